#include "sampler_service/sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sampler_service/sampling/alias_tables.h"
#include "sampler_service/sampling/own_seeds.h"
#include "shared/base/nearest.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// Most steps of a destination. Its visits are counted by comparing each with
// the others.
constexpr uint32_t kMaxSteps = 4096;

absl::Status ValidateFanouts(absl::Span<const int32_t> fanouts) {
  if (fanouts.empty() || fanouts.size() > kMaxHops) {
    return absl::InvalidArgumentError(
        absl::StrCat("sampling.fanouts has ", fanouts.size(),
                     " hops; give 1 to ", kMaxHops));
  }
  for (const int32_t fanout : fanouts) {
    if (fanout != -1 && (fanout < 1 || fanout > kMaxFanout)) {
      return absl::InvalidArgumentError(
          absl::StrCat("sampling.fanouts holds ", fanout, "; give 1 to ",
                       kMaxFanout, ", or -1 for all neighbours"));
    }
  }
  return absl::OkStatus();
}

// LABOR gives a destination a sum of independent edges with a mean of at most
// its fanout f. By Chernoff's bound, P(sum >= f + t) <= exp(-t^2 / (2 f + 2 t /
// 3)): below 1e-20 for this t.
int32_t LaborMargin(int32_t fanout) {
  constexpr double kNats = 46.1;
  const double half = kNats / 3;
  return static_cast<int32_t>(
      std::ceil(half + std::sqrt(half * half + 2 * kNats * fanout)));
}

absl::Status ValidateAlgorithm(const SamplerInput& input,
                               const SamplerOptions& options) {
  const bool walks = options.algorithm == SamplingAlgorithm::kRandomWalk;
  if (options.replace && options.algorithm != SamplingAlgorithm::kUniform &&
      options.algorithm != SamplingAlgorithm::kWeighted) {
    return absl::InvalidArgumentError(
        "sampling.replace is true; only khop and khop_weighted draw with "
        "replacement");
  }
  if (options.algorithm == SamplingAlgorithm::kWeighted) {
    if (input.weights == nullptr) {
      return absl::InvalidArgumentError(
          "sampling.kind khop_weighted has no weights");
    }
    if (MaxInDegree(input.graph) > UINT32_MAX) {
      return absl::InvalidArgumentError(
          "sampling.kind khop_weighted takes in-degrees below 2^32");
    }
  }
  if (options.algorithm == SamplingAlgorithm::kPlugin &&
      input.plugin == nullptr) {
    return absl::InvalidArgumentError("sampling.kind plugin has no plugin");
  }
  if (!walks) return absl::OkStatus();
  const WalkOptions& w = options.walks;
  if (w.num_walks < 1 || w.length < 1 ||
      uint64_t{w.num_walks} * w.length > kMaxSteps ||
      !(w.restart >= 0 && w.restart < 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "sampling.walks is {num: ", w.num_walks, ", length: ", w.length,
        ", restart: ", w.restart, "}; give num and length at least 1, ",
        kMaxSteps, " steps in all, and restart at least 0 and below 1"));
  }
  for (const int32_t fanout : options.fanouts) {
    if (fanout < 0) {
      return absl::InvalidArgumentError(
          "sampling.fanouts holds -1; random walks keep the most visited "
          "vertices: give how many");
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> SamplingKinds() {
  return {"khop", "khop_weighted", "labor", "random_walk", "plugin"};
}

std::string NameOf(SamplingAlgorithm algorithm) {
  return SamplingKinds()[static_cast<size_t>(algorithm)];
}

absl::StatusOr<SamplingAlgorithm> SamplingAlgorithmOf(std::string_view kind) {
  FGNN_ASSIGN_OR_RETURN(const size_t index, IndexOfWord(kind, SamplingKinds(),
                                                        "sampling algorithm"));
  return static_cast<SamplingAlgorithm>(index);
}

uint64_t BatchesPerEpoch(const SamplerInput& input,
                         const SamplerOptions& options) {
  return input.own_seeds != nullptr
             ? input.own_seeds->batches_per_epoch(options.batch_size)
             : BatchesPerEpoch(NumExamples(input, options), options.batch_size);
}

absl::Status Validate(const SamplerInput& input,
                      const SamplerOptions& options) {
  const CscView& graph = input.graph;
  if (graph.indptr.size() < 2) {
    return absl::InvalidArgumentError("graph has no vertices");
  }
  // The id map writes one place beyond the last vertex.
  if (graph.num_nodes() >= UINT32_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("graph has ", graph.num_nodes(), " vertices; ",
                     UINT32_MAX - 1, " are the most that a sampler takes"));
  }
  if (graph.indptr.front() != 0 ||
      static_cast<uint64_t>(graph.indptr.back()) != graph.num_edges()) {
    return absl::InvalidArgumentError(
        absl::StrCat("csc_indptr runs from ", graph.indptr.front(), " to ",
                     graph.indptr.back(), "; expected 0 to ", graph.num_edges(),
                     ", the number of indices"));
  }
  if (options.negatives > 0) {
    if (MaxSeedsOf(options) > UINT32_MAX / 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("sampling.batch_size is ", options.batch_size,
                       " and training.negatives ", options.negatives,
                       ": a batch would have ", MaxSeedsOf(options),
                       " end points; lower one of them"));
    }
    if (input.train_edges.empty()) {
      return absl::InvalidArgumentError(
          "there is no training edge; give train_edges.npy at least one");
    }
  }
  if (input.train.size() > UINT32_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("train.npy holds ", input.train.size(),
                     " ids, more than vertices; ", "remove the repeated ids"));
  }
  if (options.negatives == 0 && input.train.empty()) {
    return absl::InvalidArgumentError(
        "train set is empty; give train.npy at least one vertex");
  }
  if (options.batch_size == 0) {
    return absl::InvalidArgumentError(
        "sampling.batch_size is 0; give at least 1");
  }
  if (options.batch_dependency < 1 ||
      options.batch_dependency > kMaxBatchDependency) {
    return absl::InvalidArgumentError(
        absl::StrCat("sampling.batch_dependency is ", options.batch_dependency,
                     "; give 1 to ", kMaxBatchDependency));
  }
  FGNN_RETURN_IF_ERROR(ValidateFanouts(options.fanouts));
  return ValidateAlgorithm(input, options);
}

uint64_t MaxTaskBytesOf(const CscView& graph, const SamplerOptions& options) {
  uint64_t max_degree = MaxInDegree(graph);
  uint64_t max_edges = graph.num_edges();
  std::vector<int32_t> fanouts = options.fanouts;
  if (options.algorithm == SamplingAlgorithm::kLabor) {
    for (int32_t& fanout : fanouts) {
      if (fanout >= 0) fanout += LaborMargin(fanout);
    }
  }
  if (!options.resample) {
    // A hop keeps the edges of the hops before it.
    for (size_t hop = 1; hop < fanouts.size(); ++hop) {
      if (fanouts[hop - 1] < 0) fanouts[hop] = -1;
      if (fanouts[hop] >= 0) {
        fanouts[hop] = std::max(fanouts[hop], fanouts[hop - 1]);
      }
    }
  }
  if (options.replace || options.algorithm == SamplingAlgorithm::kRandomWalk ||
      options.algorithm == SamplingAlgorithm::kPlugin) {
    // A destination may give more edges than it has. A fanout counts also where
    // the hop before, which took all, hides it above.
    for (const int32_t fanout : options.fanouts) {
      max_degree =
          std::max(max_degree, static_cast<uint64_t>(std::max(fanout, 0)));
    }
    max_edges = UINT64_MAX;
  }
  const uint64_t pairs =
      options.negatives > 0
          ? options.batch_size * (uint64_t{options.negatives} + 1)
          : 0;
  const uint64_t bytes =
      MaxTaskBytes(MaxSeedsOf(options), fanouts, graph.num_nodes(), max_edges,
                   max_degree, HasWeights(options));
  return bytes > UINT64_MAX - PairBytes(pairs) ? UINT64_MAX
                                               : bytes + PairBytes(pairs);
}

absl::Status CheckRanks(const HotRanks& ranks, uint64_t num_nodes) {
  if (ranks.ranks.empty() ||
      (ranks.ranks.size() == num_nodes && ranks.rank_order_version != 0)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there are ", ranks.ranks.size(), " hot ranks of order ",
                   ranks.rank_order_version, " for ", num_nodes, " vertices"));
}

uint64_t TopologyBytesOf(const SamplerInput& input) {
  const CscView& graph = input.graph;
  const uint64_t index_bytes =
      std::holds_alternative<absl::Span<const int64_t>>(graph.indices) ? 8 : 4;
  uint64_t bytes = graph.indptr.size() * sizeof(graph.indptr[0]) +
                   graph.num_edges() * index_bytes;
  if (input.weights != nullptr) {
    bytes += input.weights->cells().size() * sizeof(AliasCell) +
             input.weights->weights().size() * sizeof(float);
  }
  return bytes;
}

uint64_t MaxNodesAfter(size_t num_hops, const CscView& graph,
                       const SamplerOptions& options) {
  const uint64_t num_nodes = graph.num_nodes();
  uint64_t most = std::min<uint64_t>(MaxSeedsOf(options), num_nodes);
  for (size_t hop = 0; hop < num_hops; ++hop) {
    const int32_t fanout = options.fanouts[hop];
    // Both factors are below 2^32 and 2^16.
    most = fanout < 0 || options.algorithm == SamplingAlgorithm::kLabor
               ? num_nodes
               : std::min(num_nodes, most * (uint64_t{1} + fanout));
  }
  return most;
}

absl::Span<const GlobalId> InputNodesOf(absl::Span<const std::byte> block) {
  TaskHeader header;
  std::memcpy(&header, block.data(), sizeof(header));
  return {reinterpret_cast<const GlobalId*>(block.data() +
                                            header.input_nodes_offset),
          header.num_input_nodes};
}

absl::Status Sampler::Tally(BatchSeq drawn, absl::Span<std::byte> block,
                            InputNodeSink* sink) {
  FGNN_RETURN_IF_ERROR(Sample(drawn, block).status());
  sink->StartBatch();
  sink->Add(InputNodesOf(block));
  return absl::OkStatus();
}

}  // namespace fgnn
