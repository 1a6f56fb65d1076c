#include "trainer_service/nn/cuda/layers/cuda_aggregation.h"

#include "shared/base/status.h"
#include "shared/device/cuda/status.h"
#include "trainer_service/nn/cuda/kernels/edge_scales.h"
#include "trainer_service/nn/cuda/kernels/neighbor_max.h"
#include "trainer_service/nn/cuda/layers/transposed_lists.h"

namespace fgnn {
namespace {

absl::StatusOr<DeviceLists> ListsOf(const BatchRun& run,
                                    const DeviceBlock& block) {
  return run.FindLongLists({.indptr = block.indptr,
                            .indices = block.indices,
                            .num_lists = block.num_destinations,
                            .entries = block.entries});
}

class Max final : public CudaAggregation {
 public:
  explicit Max(uint64_t columns) : columns_(columns) {}

  absl::StatusOr<void*> Forward(const BatchRun& run, const DeviceBlock& block,
                                const void* messages) override {
    FGNN_ASSIGN_OR_RETURN(
        winners_, run.Make<uint32_t>(block.num_destinations * columns_));
    return Take(run, block, messages, winners_);
  }

  absl::StatusOr<float*> Backward(const BatchRun& run, const DeviceBlock& block,
                                  const void* gradient) override {
    FGNN_ASSIGN_OR_RETURN(const TransposedLists transposed,
                          Transpose(run, block, /*counts_own=*/false));
    WonSumsArgs args;
    FGNN_RETURN_IF_ERROR(PutLists(run, transposed.lists, &args));
    args.x = gradient;
    args.winners = winners_;
    FGNN_ASSIGN_OR_RETURN(args.out,
                          run.Make<float>(block.num_sources * columns_));
    FGNN_RETURN_IF_ERROR(CudaStatus(LaunchWonSums(args, run.stream()),
                                    "cannot sum what messages have won"));
    return args.out;
  }

  absl::StatusOr<float*> Infer(const BatchRun& run, const DeviceBlock& block,
                               const float* messages) override {
    FGNN_ASSIGN_OR_RETURN(void* const out,
                          Take(run, block, messages, /*winners=*/nullptr));
    return static_cast<float*>(out);
  }

 private:
  // Sets everything but rows and winners.
  template <typename Args>
  absl::Status PutLists(const BatchRun& run, const DeviceLists& lists,
                        Args* args) const {
    args->indptr = lists.indptr;
    args->indices = lists.indices;
    args->num_lists = lists.num_lists;
    args->columns = static_cast<uint32_t>(columns_);
    args->type = run.type();
    args->long_lists = lists.long_lists;
    if (lists.long_lists.counts == nullptr) return absl::OkStatus();
    FGNN_ASSIGN_OR_RETURN(
        args->partials, run.Make<float>(MostChunks(lists.entries) * columns_));
    return absl::OkStatus();
  }

  // Returns the largest messages [D, columns]. Writes the winners, if asked.
  absl::StatusOr<void*> Take(const BatchRun& run, const DeviceBlock& block,
                             const void* messages, uint32_t* winners) const {
    FGNN_ASSIGN_OR_RETURN(const DeviceLists lists, ListsOf(run, block));
    NeighborMaxArgs args;
    FGNN_RETURN_IF_ERROR(PutLists(run, lists, &args));
    args.x = messages;
    args.winners = winners;
    if (winners != nullptr && args.partials != nullptr) {
      FGNN_ASSIGN_OR_RETURN(
          args.partial_winners,
          run.Make<uint32_t>(MostChunks(lists.entries) * columns_));
    }
    FGNN_ASSIGN_OR_RETURN(args.out,
                          run.MakeNumbers(block.num_destinations * columns_));
    FGNN_RETURN_IF_ERROR(CudaStatus(LaunchNeighborMax(args, run.stream()),
                                    "cannot find the largest messages"));
    return args.out;
  }

  const uint64_t columns_;
  uint32_t* winners_ = nullptr;  // [D, columns] Winners of the last Forward().
};

class WeightedMean final : public CudaAggregation {
 public:
  explicit WeightedMean(uint64_t columns) : columns_(columns) {}

  absl::StatusOr<void*> Forward(const BatchRun& run, const DeviceBlock& block,
                                const void* messages) override {
    FGNN_ASSIGN_OR_RETURN(scales_, run.Make<float>(block.entries));
    FGNN_RETURN_IF_ERROR(
        CudaStatus(LaunchEdgeScales({.indptr = block.indptr,
                                     .num_lists = block.num_destinations,
                                     .weights = block.weights,
                                     .scales = scales_},
                                    run.stream()),
                   "cannot weigh edges"));
    FGNN_ASSIGN_OR_RETURN(const DeviceLists lists, ListsOf(run, block));
    FGNN_ASSIGN_OR_RETURN(void* const aggregates,
                          run.MakeNumbers(block.num_destinations * columns_));
    NeighborSumsArgs args = ArgsOf(run, messages, aggregates);
    args.out_type = run.type();
    args.entry_scales = scales_;
    FGNN_RETURN_IF_ERROR(run.SumLists(lists, args));
    return aggregates;
  }

  absl::StatusOr<float*> Backward(const BatchRun& run, const DeviceBlock& block,
                                  const void* gradient) override {
    FGNN_ASSIGN_OR_RETURN(const TransposedLists transposed,
                          Transpose(run, block, /*counts_own=*/false));
    FGNN_ASSIGN_OR_RETURN(float* const scales, run.Make<float>(block.entries));
    FGNN_RETURN_IF_ERROR(
        CudaStatus(LaunchGatherFloats(scales_, transposed.block_entries,
                                      block.entries, scales, run.stream()),
                   "cannot sort the weights of edges"));
    FGNN_ASSIGN_OR_RETURN(float* const out,
                          run.Make<float>(block.num_sources * columns_));
    NeighborSumsArgs args = ArgsOf(run, gradient, out);
    args.entry_scales = scales;
    FGNN_RETURN_IF_ERROR(run.SumLists(transposed.lists, args));
    return out;
  }

  absl::StatusOr<float*> Infer(const BatchRun& run, const DeviceBlock& block,
                               const float* messages) override {
    FGNN_ASSIGN_OR_RETURN(const DeviceLists lists, ListsOf(run, block));
    FGNN_ASSIGN_OR_RETURN(float* const out,
                          run.Make<float>(block.num_destinations * columns_));
    NeighborSumsArgs args = ArgsOf(run, messages, out);
    args.divisor = Divisor::kCount;
    FGNN_RETURN_IF_ERROR(run.SumLists(lists, args));
    return out;
  }

 private:
  // Returns the arguments of sums of `x` (numbers) to floats.
  NeighborSumsArgs ArgsOf(const BatchRun& run, const void* x, void* out) const {
    NeighborSumsArgs args;
    args.columns = static_cast<uint32_t>(columns_);
    args.type = run.type();
    args.x = x;
    args.out = out;
    return args;
  }

  const uint64_t columns_;
  float* scales_ = nullptr;  // [entries] Scales of the last Forward().
};

}  // namespace

std::unique_ptr<CudaAggregation> MakeCudaAggregation(Aggregator aggregator,
                                                     uint64_t columns) {
  if (aggregator == Aggregator::kMax) return std::make_unique<Max>(columns);
  return std::make_unique<WeightedMean>(columns);
}

}  // namespace fgnn
