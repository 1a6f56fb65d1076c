#include "trainer_service/nn/cuda/layers/cuda_aggregation.h"

#include "shared/base/status.h"
#include "shared/device/cuda/status.h"
#include "trainer_service/nn/cuda/edge_scales.h"
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
  // Of sums of `x` (numbers) to floats.
  NeighborSumsArgs ArgsOf(const BatchRun& run, const void* x, void* out) const {
    NeighborSumsArgs args;
    args.columns = static_cast<uint32_t>(columns_);
    args.type = run.type();
    args.x = x;
    args.out = out;
    return args;
  }

  const uint64_t columns_;
  float* scales_ = nullptr;  // [entries] Of the last Forward().
};

}  // namespace

std::unique_ptr<CudaAggregation> MakeCudaAggregation(uint64_t columns) {
  return std::make_unique<WeightedMean>(columns);
}

}  // namespace fgnn
