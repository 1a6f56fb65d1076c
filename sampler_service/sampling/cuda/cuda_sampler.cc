#include "sampler_service/sampling/cuda/cuda_sampler.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sampler_service/sampling/epoch_seeds.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

class CudaSampler final : public Sampler {
 public:
  CudaSampler(std::shared_ptr<DeviceGraph> graph, const SamplerInput& input,
              const SamplerOptions& options, std::unique_ptr<DeviceBatch> batch)
      : options_(options),
        num_nodes_(input.graph.num_nodes()),
        epoch_seeds_(input, options),
        graph_(std::move(graph)),
        batch_(std::move(batch)) {}

  absl::StatusOr<SampledTask> SampleAs(const OrderedBatch& batch,
                                       absl::Span<std::byte> block) override;
  absl::Status MarkBy(const HotRanks& ranks) override;
  uint64_t workspace_bytes() const override { return batch_->pinned_bytes(); }
  uint64_t device_bytes() const override { return batch_->device_bytes(); }
  uint64_t progress() const override { return progress_.ticks(); }

 private:
  // Where a task has its arrays.
  struct Arrays {
    uint32_t* pairs = nullptr;
    std::array<TaskWriter::HopArrays, kMaxHops> hops = {};
    uint32_t* nodes = nullptr;
    uint32_t* marks = nullptr;
  };

  uint32_t num_hops() const {
    return static_cast<uint32_t>(options_.fanouts.size());
  }
  absl::StatusOr<Arrays> MakeRoom(TaskWriter* writer) const;
  absl::Status CopyTo(const Arrays& arrays);

  const SamplerOptions options_;
  const uint64_t num_nodes_;
  const EpochSeeds epoch_seeds_;
  DrawnSeeds drawn_;                 // What the batch begins with.
  uint32_t rank_order_version_ = 0;  // 0: nodes are not marked.
  const std::shared_ptr<DeviceGraph> graph_;
  const std::unique_ptr<DeviceBatch> batch_;
  Progress progress_;
};

absl::StatusOr<CudaSampler::Arrays> CudaSampler::MakeRoom(
    TaskWriter* writer) const {
  Arrays arrays;
  if (epoch_seeds_.are_pairs()) {
    FGNN_ASSIGN_OR_RETURN(arrays.pairs, writer->AddPairs(drawn_.num_ids / 2,
                                                         drawn_.num_positives));
  }
  for (uint32_t h = 0; h < num_hops(); ++h) {
    const DeviceList& hop = batch_->hop(h);
    FGNN_ASSIGN_OR_RETURN(arrays.hops[h], writer->AddHop(hop.num_known, hop.end,
                                                         HasWeights(options_)));
    writer->SetNumSources(hop.num_nodes);
  }
  FGNN_ASSIGN_OR_RETURN(arrays.nodes,
                        writer->AddInputNodes(batch_->num_nodes()));
  if (rank_order_version_ != 0) {
    FGNN_ASSIGN_OR_RETURN(arrays.marks,
                          writer->AddHotRanks(rank_order_version_));
  }
  return arrays;
}

absl::Status CudaSampler::CopyTo(const Arrays& arrays) {
  if (arrays.pairs != nullptr) {
    FGNN_RETURN_IF_ERROR(batch_->CopySeedIds(arrays.pairs));
  }
  for (uint32_t h = 0; h < num_hops(); ++h) {
    FGNN_RETURN_IF_ERROR(batch_->CopyHop(h, arrays.hops[h]));
  }
  FGNN_RETURN_IF_ERROR(batch_->CopyNodes(arrays.nodes));
  if (arrays.marks == nullptr) return absl::OkStatus();
  return batch_->CopyMarks(arrays.marks);
}

absl::StatusOr<SampledTask> CudaSampler::SampleAs(const OrderedBatch& batch,
                                                  absl::Span<std::byte> block) {
  FGNN_RETURN_IF_ERROR(graph_->ChooseDevice());
  SampledTask task;
  Stopwatch watch;
  const BatchPlace place = epoch_seeds_.PlaceOf(batch.drawn);
  FGNN_ASSIGN_OR_RETURN(drawn_,
                        epoch_seeds_.Draw(place, batch_->seed_ids().data()));
  task.seconds.sample = static_cast<float>(watch.Seconds());
  FGNN_RETURN_IF_ERROR(batch_->Sample(
      place, drawn_.num_ids, drawn_.num_positives, &progress_, &task.seconds));
  FGNN_RETURN_IF_ERROR(epoch_seeds_.CheckDistinct(place, drawn_.num_ids,
                                                  batch_->seeds().num_nodes));
  task.seconds.order = batch.order_seconds;
  watch.Restart();
  task.num_seeds = batch_->seeds().num_nodes;
  task.num_input_nodes = batch_->num_nodes();
  for (uint32_t h = 0; h < num_hops(); ++h) {
    task.num_edges += batch_->hop(h).end;
  }
  TaskWriter writer(block, options_.job_key, batch.seq, task.num_seeds);
  FGNN_ASSIGN_OR_RETURN(const Arrays arrays, MakeRoom(&writer));
  // Nothing may write into the block once it is given back.
  const absl::Status copies = CopyTo(arrays);
  FGNN_RETURN_IF_ERROR(batch_->Wait(&progress_));
  FGNN_RETURN_IF_ERROR(copies);
  // The host's time: the device's, of the checksums, is in there already.
  task.seconds.copy += static_cast<float>(watch.Seconds());
  // What is in the block is not read again. Where a copy went wrong, readers
  // find that it does not match.
  task.digest = writer.Finish(task.seconds, batch_->Checksums());
  task.bytes = writer.total_bytes();
  return task;
}

absl::Status CudaSampler::MarkBy(const HotRanks& ranks) {
  FGNN_RETURN_IF_ERROR(CheckRanks(ranks, num_nodes_));
  FGNN_RETURN_IF_ERROR(graph_->ChooseDevice());
  DeviceRanks uploaded;
  if (!ranks.ranks.empty()) {
    FGNN_ASSIGN_OR_RETURN(uploaded, graph_->Upload(ranks));
  }
  batch_->MarkBy(std::move(uploaded));
  rank_order_version_ = ranks.ranks.empty() ? 0 : ranks.rank_order_version;
  return absl::OkStatus();
}

absl::Status CheckImplemented(const SamplerOptions& options) {
  if (options.algorithm == SamplingAlgorithm::kPlugin) {
    return absl::UnimplementedError(
        "sampling.kind plugin does not run on CUDA devices: sample on cpu "
        "devices");
  }
  if (options.algorithm != SamplingAlgorithm::kWeighted || options.replace) {
    return absl::OkStatus();
  }
  for (const int32_t fanout : options.fanouts) {
    if (fanout > kMaxWarpFanout) {
      return absl::UnimplementedError(absl::StrCat(
          "sampling.fanouts holds ", fanout,
          "; khop_weighted without "
          "replacement draws at most ",
          kMaxWarpFanout,
          " on CUDA devices: give fewer, or sample on cpu devices"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Sampler>> NewCudaSampler(
    std::shared_ptr<DeviceGraph> graph, const SamplerInput& input,
    const SamplerOptions& options, const BatchRoom& first_room) {
  FGNN_RETURN_IF_ERROR(Validate(input, options));
  FGNN_RETURN_IF_ERROR(CheckImplemented(options));
  UploadedTables weights;
  if (options.algorithm == SamplingAlgorithm::kWeighted) {
    FGNN_RETURN_IF_ERROR(graph->ChooseDevice());
    FGNN_ASSIGN_OR_RETURN(weights, graph->Upload(*input.weights));
  }
  FGNN_ASSIGN_OR_RETURN(
      std::unique_ptr<DeviceBatch> batch,
      DeviceBatch::Make(graph, std::move(weights), options,
                        {.seed_ids = EpochSeeds(input, options).most_ids(),
                         .nodes = MaxNodesAfter(options.fanouts.size(),
                                                input.graph, options)},
                        first_room));
  return std::make_unique<CudaSampler>(std::move(graph), input, options,
                                       std::move(batch));
}

}  // namespace fgnn
