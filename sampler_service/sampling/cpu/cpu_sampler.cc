#include "sampler_service/sampling/cpu/cpu_sampler.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sampler_service/id_map/cpu/cpu_id_map.h"
#include "sampler_service/sampling/cpu/hop_sampler.h"
#include "sampler_service/sampling/cpu/labor_hops.h"
#include "sampler_service/sampling/cpu/plugin_hops.h"
#include "sampler_service/sampling/cpu/seed_edge_filter.h"
#include "sampler_service/sampling/cpu/uniform_hops.h"
#include "sampler_service/sampling/cpu/walk_hops.h"
#include "sampler_service/sampling/cpu/weighted_hops.h"
#include "sampler_service/sampling/epoch_seeds.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// Number of reads of ranks in flight.
constexpr size_t kPrefetchedRanks = 64;

// Makes a batch, hop by hop.
class CpuSampler final : public Sampler {
 public:
  CpuSampler(const SamplerInput& input, SamplerOptions options,
             std::unique_ptr<IdMap> id_map, std::unique_ptr<HopSampler> hops)
      : options_(std::move(options)),
        epoch_seeds_(input, options_),
        seeds_(epoch_seeds_.most_ids()),
        num_nodes_(input.graph.num_nodes()),
        id_map_(std::move(id_map)),
        hops_(std::move(hops)) {
    if (epoch_seeds_.are_pairs() && options_.exclude_seed_edges) {
      seed_edges_.emplace(epoch_seeds_.most_examples());
    }
  }

  absl::StatusOr<SampledTask> SampleAs(const OrderedBatch& batch,
                                       absl::Span<std::byte> block) override;
  absl::Status Tally(BatchSeq drawn, absl::Span<std::byte> block,
                     InputNodeSink* sink) override;
  absl::Status MarkBy(const HotRanks& ranks) override;
  bool KeepEdgePlaces() override {
    // The filter would leave edges out of a hop, but not their places.
    keeps_places_ = hops_->KeepsPlaces() && !seed_edges_.has_value();
    return keeps_places_;
  }
  absl::Span<const EdgeOffset> edge_places() const override { return places_; }
  uint64_t workspace_bytes() const override {
    return seeds_.size() * sizeof(GlobalId) + id_map_->workspace_bytes() +
           hops_->workspace_bytes();
  }

  uint64_t progress() const override { return hops_->progress(); }

 private:
  // The edges of the hop before. Without `resample`, a hop begins with a copy
  // of them.
  struct Kept {
    uint64_t num_destinations = 0;
    uint32_t num_edges = 0;
    TaskWriter::HopArrays arrays = {};
  };

  absl::Status MapSeeds(BatchPlace place, SampledTask* task);
  // Draws the seeds of the batch at `place`, and its pairs if it has them.
  absl::StatusOr<TaskWriter> Begin(BatchSeq seq, BatchPlace place,
                                   absl::Span<std::byte> block,
                                   SampledTask* task);
  // Draws a hop. Returns the sources of the new edges, as global ids.
  absl::StatusOr<absl::Span<uint32_t>> DrawHop(BatchPlace place, uint32_t hop,
                                               TaskWriter* writer);
  absl::Status SampleHop(BatchPlace place, uint32_t hop, TaskWriter* writer,
                         SampledTask* task);
  absl::Status Mark(TaskWriter* writer);

  SamplerOptions options_;
  EpochSeeds epoch_seeds_;
  // What EpochSeeds has drawn for a batch, as local ids once they are mapped.
  std::vector<GlobalId> seeds_;
  DrawnSeeds drawn_;
  // Leaves a batch's own edges out of its hops; only for link prediction.
  std::optional<SeedEdgeFilter> seed_edges_;
  const uint64_t num_nodes_;
  HotRanks hot_ranks_;
  std::unique_ptr<IdMap> id_map_;
  std::unique_ptr<HopSampler> hops_;
  Kept kept_;
  bool keeps_places_ = false;
  std::vector<EdgeOffset> places_;  // Places of the last hop's edges.
};

absl::Status CpuSampler::MapSeeds(BatchPlace place, SampledTask* task) {
  Stopwatch watch;
  FGNN_ASSIGN_OR_RETURN(drawn_, epoch_seeds_.Draw(place, seeds_.data()));
  task->seconds.sample += static_cast<float>(watch.Restart());
  id_map_->StartBatch();
  id_map_->MapInPlace(absl::MakeSpan(seeds_.data(), drawn_.num_ids));
  task->num_seeds = static_cast<uint32_t>(id_map_->nodes().size());
  FGNN_RETURN_IF_ERROR(
      epoch_seeds_.CheckDistinct(place, drawn_.num_ids, task->num_seeds));
  if (seed_edges_.has_value()) {
    seed_edges_->StartBatch({seeds_.data(), size_t{drawn_.num_positives} * 2},
                            id_map_->nodes());
  }
  task->seconds.id_map += static_cast<float>(watch.Seconds());
  return absl::OkStatus();
}

absl::StatusOr<absl::Span<uint32_t>> CpuSampler::DrawHop(BatchPlace place,
                                                         uint32_t hop,
                                                         TaskWriter* writer) {
  const absl::Span<const GlobalId> nodes = id_map_->nodes();
  const Kept kept = options_.resample ? Kept{} : kept_;
  const uint64_t first = kept.num_destinations;
  TaskWriter::HopArrays arrays = {};
  const auto behind_kept = [&] {
    return TaskWriter::HopArrays{
        arrays.indptr + first, arrays.indices + kept.num_edges,
        arrays.weights == nullptr ? nullptr : arrays.weights + kept.num_edges};
  };
  const auto make_room =
      [&](uint64_t num_edges) -> absl::StatusOr<TaskWriter::HopArrays> {
    FGNN_ASSIGN_OR_RETURN(
        arrays,
        writer->AddHop(static_cast<uint32_t>(nodes.size()),
                       kept.num_edges + num_edges, HasWeights(options_)));
    return behind_kept();
  };
  // The hop before has left those of the kept edges.
  places_.resize(keeps_places_ ? kept.num_edges : 0);
  FGNN_ASSIGN_OR_RETURN(
      uint64_t drawn,
      hops_->Sample({.key = KeyOfHop(options_, place, hop),
                     .fanout = options_.fanouts[hop],
                     .nodes = nodes,
                     .first = first,
                     .places = keeps_places_ ? &places_ : nullptr},
                    make_room));
  if (seed_edges_.has_value()) {
    drawn = seed_edges_->Filter({.first = first, .end = nodes.size()},
                                behind_kept());
  }
  const uint64_t num_edges = kept.num_edges + drawn;
  arrays.weights = writer->TrimHop(num_edges);
  if (first > 0) {
    std::copy_n(kept.arrays.indptr, first, arrays.indptr);
    std::copy_n(kept.arrays.indices, kept.num_edges, arrays.indices);
    if (arrays.weights != nullptr) {
      std::copy_n(kept.arrays.weights, kept.num_edges, arrays.weights);
    }
    for (uint64_t i = first; i <= nodes.size(); ++i) {
      arrays.indptr[i] += kept.num_edges;
    }
  }
  kept_ = {nodes.size(), static_cast<uint32_t>(num_edges), arrays};
  return absl::MakeSpan(arrays.indices + kept.num_edges, drawn);
}

absl::Status CpuSampler::SampleHop(BatchPlace place, uint32_t hop,
                                   TaskWriter* writer, SampledTask* task) {
  Stopwatch watch;
  FGNN_ASSIGN_OR_RETURN(const absl::Span<uint32_t> drawn,
                        DrawHop(place, hop, writer));
  task->seconds.sample += static_cast<float>(watch.Restart());
  id_map_->MapInPlace(drawn);
  writer->SetNumSources(static_cast<uint32_t>(id_map_->nodes().size()));
  task->num_edges += kept_.num_edges;
  task->seconds.id_map += static_cast<float>(watch.Seconds());
  return absl::OkStatus();
}

absl::Status CpuSampler::Tally(BatchSeq drawn, absl::Span<std::byte> block,
                               InputNodeSink* sink) {
  SampledTask task;
  const BatchPlace place = epoch_seeds_.PlaceOf(drawn);
  FGNN_ASSIGN_OR_RETURN(TaskWriter writer, Begin(drawn, place, block, &task));
  const auto last = static_cast<uint32_t>(options_.fanouts.size() - 1);
  for (uint32_t hop = 0; hop < last; ++hop) {
    FGNN_RETURN_IF_ERROR(SampleHop(place, hop, &writer, &task));
  }
  FGNN_ASSIGN_OR_RETURN(const absl::Span<const uint32_t> sources,
                        DrawHop(place, last, &writer));
  sink->StartBatch();
  sink->Add(id_map_->nodes());
  sink->Add(sources);
  return absl::OkStatus();
}

absl::Status CpuSampler::MarkBy(const HotRanks& ranks) {
  FGNN_RETURN_IF_ERROR(CheckRanks(ranks, num_nodes_));
  hot_ranks_ = ranks;
  return absl::OkStatus();
}

// FGNN, section 6: the rank alone tells a trainer whether it has cached a
// vertex, and where.
absl::Status CpuSampler::Mark(TaskWriter* writer) {
  FGNN_ASSIGN_OR_RETURN(uint32_t* const marks,
                        writer->AddHotRanks(hot_ranks_.rank_order_version));
  const absl::Span<const GlobalId> nodes = id_map_->nodes();
  const uint32_t* const ranks = hot_ranks_.ranks.data();
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i + kPrefetchedRanks < nodes.size()) {
      __builtin_prefetch(&ranks[nodes[i + kPrefetchedRanks]]);
    }
    marks[i] = ranks[nodes[i]];
  }
  return absl::OkStatus();
}

absl::StatusOr<TaskWriter> CpuSampler::Begin(BatchSeq seq, BatchPlace place,
                                             absl::Span<std::byte> block,
                                             SampledTask* task) {
  FGNN_RETURN_IF_ERROR(MapSeeds(place, task));
  hops_->StartBatch();
  kept_ = {};
  TaskWriter writer(block, options_.job_key, seq, task->num_seeds);
  if (epoch_seeds_.are_pairs()) {
    FGNN_ASSIGN_OR_RETURN(
        uint32_t* const pairs,
        writer.AddPairs(drawn_.num_ids / 2, drawn_.num_positives));
    std::copy_n(seeds_.data(), drawn_.num_ids, pairs);
  }
  return writer;
}

absl::StatusOr<SampledTask> CpuSampler::SampleAs(const OrderedBatch& batch,
                                                 absl::Span<std::byte> block) {
  SampledTask task;
  task.seconds.order = batch.order_seconds;
  const BatchPlace place = epoch_seeds_.PlaceOf(batch.drawn);
  FGNN_ASSIGN_OR_RETURN(TaskWriter writer,
                        Begin(batch.seq, place, block, &task));
  for (uint32_t hop = 0; hop < options_.fanouts.size(); ++hop) {
    FGNN_RETURN_IF_ERROR(SampleHop(place, hop, &writer, &task));
  }
  Stopwatch watch;
  const absl::Span<const GlobalId> nodes = id_map_->nodes();
  task.num_input_nodes = static_cast<uint32_t>(nodes.size());
  FGNN_ASSIGN_OR_RETURN(uint32_t* const input_nodes,
                        writer.AddInputNodes(task.num_input_nodes));
  std::copy(nodes.begin(), nodes.end(), input_nodes);
  task.seconds.copy = static_cast<float>(watch.Restart());
  if (!hot_ranks_.ranks.empty()) {
    FGNN_RETURN_IF_ERROR(Mark(&writer));
    task.seconds.mark = static_cast<float>(watch.Restart());
  }
  task.digest = writer.Finish(task.seconds);
  task.seconds.copy += static_cast<float>(watch.Seconds());
  task.bytes = writer.total_bytes();
  return task;
}

absl::StatusOr<std::unique_ptr<HopSampler>> NewHopSampler(
    const SamplerInput& input, const SamplerOptions& options,
    const LaneFunctions& lanes) {
  const int32_t largest =
      *std::max_element(options.fanouts.begin(), options.fanouts.end());
  const HopsOptions hops = {
      .input = input,
      .walks = options.walks,
      .replace = options.replace,
      .max_destinations =
          MaxNodesAfter(options.fanouts.size() - 1, input.graph, options),
      .max_fanout = static_cast<uint32_t>(std::max(largest, 0)),
      .lanes = lanes};
  switch (options.algorithm) {
    case SamplingAlgorithm::kUniform:
      return NewUniformHops(hops);
    case SamplingAlgorithm::kWeighted:
      return NewWeightedHops(hops);
    case SamplingAlgorithm::kLabor:
      return NewLaborHops(hops);
    case SamplingAlgorithm::kRandomWalk:
      return NewWalkHops(hops);
    case SamplingAlgorithm::kPlugin:
      return NewPluginHops(hops);
  }
  return absl::InvalidArgumentError("sampling.kind is none of this build's");
}

}  // namespace

uint64_t MaxBatchNodes(const CscView& graph, const SamplerOptions& options) {
  return MaxNodesAfter(options.fanouts.size(), graph, options);
}

absl::StatusOr<std::unique_ptr<Sampler>> NewCpuSamplerOf(
    CpuSamplerParts parts, const SamplerInput& input,
    const SamplerOptions& options) {
  FGNN_RETURN_IF_ERROR(Validate(input, options));
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<HopSampler> hops,
                        NewHopSampler(input, options, parts.lanes));
  return std::make_unique<CpuSampler>(input, options, std::move(parts.id_map),
                                      std::move(hops));
}

absl::StatusOr<std::unique_ptr<Sampler>> NewCpuSampler(
    const SamplerInput& input, const SamplerOptions& options) {
  FGNN_RETURN_IF_ERROR(Validate(input, options));
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<IdMap> id_map,
                        NewCpuIdMap(input.graph.num_nodes(),
                                    MaxBatchNodes(input.graph, options)));
  return NewCpuSamplerOf(
      {.id_map = std::move(id_map), .lanes = SupportedDrawLanes().front()},
      input, options);
}

}  // namespace fgnn
