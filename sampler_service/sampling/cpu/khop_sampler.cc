#include "sampler_service/sampling/cpu/khop_sampler.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sampler_service/id_map/cpu/direct_id_map.h"
#include "sampler_service/sampling/cpu/hop_sampler.h"
#include "sampler_service/sampling/epoch_seeds.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// Vertices that a batch can have after `num_hops` hops.
uint64_t MaxNodesAfter(size_t num_hops, const CscView& graph,
                       const SamplerOptions& options) {
  const uint64_t num_nodes = graph.num_nodes();
  uint64_t most = std::min<uint64_t>(options.batch_size, num_nodes);
  for (size_t hop = 0; hop < num_hops; ++hop) {
    const int32_t fanout = options.fanouts[hop];
    // Both factors are below 2^32 and 2^16.
    most = fanout < 0 ? num_nodes
                      : std::min(num_nodes, most * (uint64_t{1} + fanout));
  }
  return most;
}

template <typename Index>
class KhopSampler final : public Sampler {
 public:
  KhopSampler(const SamplerInput& input, SamplerOptions options,
              std::unique_ptr<IdMap> id_map,
              std::unique_ptr<HopSampler<Index>> hops)
      : options_(std::move(options)),
        epoch_seeds_(input.train, options_.batch_size, options_.seed,
                     input.graph.num_nodes()),
        seeds_(std::min<uint64_t>(options_.batch_size, input.train.size())),
        id_map_(std::move(id_map)),
        hops_(std::move(hops)) {}

  absl::StatusOr<SampledTask> Sample(BatchSeq seq,
                                     absl::Span<std::byte> block) override;
  uint64_t workspace_bytes() const override {
    return seeds_.size() * sizeof(GlobalId) + id_map_->workspace_bytes() +
           hops_->workspace_bytes();
  }

  uint64_t progress() const override { return hops_->progress(); }

 private:
  absl::Status MapSeeds(BatchPlace place, SampledTask* task);
  absl::Status SampleHop(BatchPlace place, uint32_t hop, TaskWriter* writer,
                         SampledTask* task);

  SamplerOptions options_;
  EpochSeeds epoch_seeds_;
  std::vector<GlobalId> seeds_;
  std::unique_ptr<IdMap> id_map_;
  std::unique_ptr<HopSampler<Index>> hops_;
};

template <typename Index>
absl::Status KhopSampler<Index>::MapSeeds(BatchPlace place, SampledTask* task) {
  Stopwatch watch;
  FGNN_ASSIGN_OR_RETURN(task->num_seeds,
                        epoch_seeds_.Draw(place, seeds_.data()));
  task->seconds.sample += static_cast<float>(watch.Restart());
  id_map_->StartBatch();
  id_map_->MapInPlace(absl::MakeSpan(seeds_.data(), task->num_seeds));
  if (id_map_->nodes().size() != task->num_seeds) {
    return absl::InvalidArgumentError(absl::StrCat(
        "train.npy holds a vertex twice: batch ", place.batch, " of epoch ",
        place.epoch, " has ", id_map_->nodes().size(), " vertices for ",
        task->num_seeds, " seeds; remove the repeated ids"));
  }
  hops_->StartBatch();
  task->seconds.id_map += static_cast<float>(watch.Seconds());
  return absl::OkStatus();
}

template <typename Index>
absl::Status KhopSampler<Index>::SampleHop(BatchPlace place, uint32_t hop,
                                           TaskWriter* writer,
                                           SampledTask* task) {
  Stopwatch watch;
  const int32_t fanout = options_.fanouts[hop];
  const absl::Span<const GlobalId> nodes = id_map_->nodes();
  FGNN_RETURN_IF_ERROR(hops_->LookUp(nodes));
  const uint64_t num_edges = hops_->CountEdges(fanout);
  FGNN_ASSIGN_OR_RETURN(
      const TaskWriter::HopArrays arrays,
      writer->AddHop(static_cast<uint32_t>(nodes.size()), num_edges));
  const PhiloxKey key = MakePhiloxKey(options_.seed, place.epoch, place.batch,
                                      hop, Purpose::kNeighbors);
  FGNN_RETURN_IF_ERROR(hops_->Fill(key, fanout, nodes, arrays));
  task->seconds.sample += static_cast<float>(watch.Restart());
  id_map_->MapInPlace(absl::MakeSpan(arrays.indices, num_edges));
  writer->SetNumSources(static_cast<uint32_t>(id_map_->nodes().size()));
  task->num_edges += num_edges;
  task->seconds.id_map += static_cast<float>(watch.Seconds());
  return absl::OkStatus();
}

template <typename Index>
absl::StatusOr<SampledTask> KhopSampler<Index>::Sample(
    BatchSeq seq, absl::Span<std::byte> block) {
  SampledTask task;
  const BatchPlace place = epoch_seeds_.PlaceOf(seq);
  FGNN_RETURN_IF_ERROR(MapSeeds(place, &task));
  TaskWriter writer(block, options_.job_key, seq, task.num_seeds);
  for (uint32_t hop = 0; hop < options_.fanouts.size(); ++hop) {
    FGNN_RETURN_IF_ERROR(SampleHop(place, hop, &writer, &task));
  }
  Stopwatch watch;
  const absl::Span<const GlobalId> nodes = id_map_->nodes();
  task.num_input_nodes = static_cast<uint32_t>(nodes.size());
  FGNN_ASSIGN_OR_RETURN(uint32_t* const input_nodes,
                        writer.AddInputNodes(task.num_input_nodes));
  std::copy(nodes.begin(), nodes.end(), input_nodes);
  task.seconds.copy = static_cast<float>(watch.Seconds());
  task.digest = writer.Finish(task.seconds);
  task.seconds.copy = static_cast<float>(watch.Seconds());
  task.bytes = writer.total_bytes();
  return task;
}

template <typename Index>
absl::StatusOr<std::unique_ptr<Sampler>> NewKhopSampler(
    absl::Span<const Index> indices, const SamplerInput& input,
    const SamplerOptions& options, KhopParts parts) {
  const int32_t max_fanout =
      *std::max_element(options.fanouts.begin(), options.fanouts.end());
  FGNN_ASSIGN_OR_RETURN(
      std::unique_ptr<HopSampler<Index>> hops,
      HopSampler<Index>::Create(
          {.indptr = input.graph.indptr,
           .indices = indices,
           .max_destinations =
               MaxNodesAfter(options.fanouts.size() - 1, input.graph, options),
           .max_fanout = static_cast<uint32_t>(std::max(max_fanout, 0)),
           .draw_lanes = parts.draw_lanes}));
  return std::make_unique<KhopSampler<Index>>(
      input, options, std::move(parts.id_map), std::move(hops));
}

}  // namespace

uint64_t MaxBatchNodes(const CscView& graph, const SamplerOptions& options) {
  return MaxNodesAfter(options.fanouts.size(), graph, options);
}

absl::StatusOr<std::unique_ptr<Sampler>> NewCpuKhopSamplerOf(
    KhopParts parts, const SamplerInput& input, const SamplerOptions& options) {
  FGNN_RETURN_IF_ERROR(Validate(input, options));
  return std::visit(
      [&](auto indices) {
        return NewKhopSampler(indices, input, options, std::move(parts));
      },
      input.graph.indices);
}

absl::StatusOr<std::unique_ptr<Sampler>> NewCpuKhopSampler(
    const SamplerInput& input, const SamplerOptions& options) {
  FGNN_RETURN_IF_ERROR(Validate(input, options));
  FGNN_ASSIGN_OR_RETURN(
      std::unique_ptr<IdMap> id_map,
      DirectIdMap::Create(input.graph.num_nodes(),
                          MaxBatchNodes(input.graph, options)));
  return NewCpuKhopSamplerOf({.id_map = std::move(id_map),
                              .draw_lanes = SupportedDrawLanes().front().draw},
                             input, options);
}

}  // namespace fgnn
