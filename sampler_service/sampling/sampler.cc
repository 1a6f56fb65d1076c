#include "sampler_service/sampling/sampler.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"

namespace fgnn {
namespace {

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

}  // namespace

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
  const size_t num_indices =
      std::visit([](auto span) { return span.size(); }, graph.indices);
  if (graph.indptr.front() != 0 || graph.num_edges() != num_indices) {
    return absl::InvalidArgumentError(
        absl::StrCat("csc_indptr runs from ", graph.indptr.front(), " to ",
                     graph.indptr.back(), "; expected 0 to ", num_indices,
                     ", the number of indices"));
  }
  if (input.train.size() > UINT32_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("train.npy holds ", input.train.size(),
                     " ids, more than vertices; ", "remove the repeated ids"));
  }
  if (input.train.empty()) {
    return absl::InvalidArgumentError(
        "train set is empty; give train.npy at least one vertex");
  }
  if (options.batch_size == 0) {
    return absl::InvalidArgumentError(
        "sampling.batch_size is 0; give at least 1");
  }
  return ValidateFanouts(options.fanouts);
}

uint64_t BatchesPerEpoch(uint64_t num_train, uint32_t batch_size) {
  return (num_train + batch_size - 1) / batch_size;
}

uint64_t MaxTaskBytesOf(const CscView& graph, const SamplerOptions& options) {
  EdgeOffset max_degree = 0;
  for (size_t v = 0; v + 1 < graph.indptr.size(); ++v) {
    max_degree = std::max(max_degree, graph.indptr[v + 1] - graph.indptr[v]);
  }
  return MaxTaskBytes(options.batch_size, options.fanouts, graph.num_nodes(),
                      graph.num_edges(), static_cast<uint64_t>(max_degree),
                      /*with_weights=*/false);
}

}  // namespace fgnn
