#include "trainer_service/nn/cuda/batch_run.h"

#include "shared/base/status.h"
#include "shared/device/cuda/status.h"
#include "trainer_service/nn/cuda/kernels/array_sums.h"
#include "trainer_service/nn/cuda/kernels/column_sums.h"
#include "trainer_service/nn/cuda/kernels/dropout.h"
#include "trainer_service/nn/cuda/kernels/long_lists.h"

namespace fgnn {

absl::StatusOr<void*> BatchRun::MakeNumbers(uint64_t count) const {
  if (type_ == FeatureType::kFloat32) return Make<float>(count);
  return Make<uint16_t>(count);
}

absl::Status BatchRun::Multiply(ProductArgs args) const {
  args.type = type_;
  args.rounds_to_tf32 = precision_ == Precision::kTf32;
  return products_->Multiply(args, stream_);
}

absl::Status BatchRun::Forward(const DeviceWeight& weight, const void* x,
                               uint64_t rows, const ProductResult& y) const {
  return Multiply({.m = rows,
                   .n = weight.out,
                   .k = weight.in,
                   .transposes_b = true,
                   .adds = y.adds,
                   .a = x,
                   .b = parameters_->Numbers(weight.offset),
                   .c_type = y.type,
                   .c = y.to});
}

absl::Status BatchRun::Backward(const DeviceWeight& weight, const void* dy,
                                uint64_t rows, const ProductResult& dx) const {
  return Multiply({.m = rows,
                   .n = weight.in,
                   .k = weight.out,
                   .adds = dx.adds,
                   .a = dy,
                   .b = parameters_->Numbers(weight.offset),
                   .c_type = dx.type,
                   .c = dx.to});
}

absl::Status BatchRun::GradientOfWeight(const DeviceWeight& weight,
                                        const void* dy, const void* x,
                                        uint64_t rows) const {
  return Multiply({.m = weight.out,
                   .n = weight.in,
                   .k = rows,
                   .transposes_a = true,
                   .a = dy,
                   .b = x,
                   .c_type = FeatureType::kFloat32,
                   .c = parameters_->Gradient(weight.offset)});
}

absl::Status BatchRun::GradientOfBias(uint64_t offset, const void* dy,
                                      uint64_t rows, uint64_t columns) const {
  return GradientOfVector(offset, dy, rows, columns, nullptr, 1);
}

absl::Status BatchRun::GradientOfVector(uint64_t offset, const void* x,
                                        uint64_t rows, uint64_t columns,
                                        const float* scores,
                                        uint32_t heads) const {
  FGNN_ASSIGN_OR_RETURN(float* const partials,
                        Make<float>(kMostRowChunks * columns));
  return CudaStatus(LaunchColumnSums({.rows = static_cast<uint32_t>(rows),
                                      .columns = static_cast<uint32_t>(columns),
                                      .type = type_,
                                      .x = x,
                                      .partials = partials,
                                      .out = parameters_->Gradient(offset),
                                      .scales = scores,
                                      .heads = heads},
                                     stream_),
                    "cannot sum columns");
}

absl::Status BatchRun::GradientOfFactor(uint64_t offset, const void* a,
                                        const void* b, uint64_t count) const {
  FGNN_ASSIGN_OR_RETURN(float* const partials, Make<float>(kMostSumBlocks));
  return CudaStatus(
      LaunchElementProducts({.count = count,
                             .type = type_,
                             .a = a,
                             .b = b,
                             .partials = partials,
                             .sum = parameters_->Gradient(offset)},
                            stream_),
      "cannot sum products of elements");
}

absl::StatusOr<DeviceLists> BatchRun::FindLongLists(
    const DeviceLists& lists) const {
  DeviceLists found = lists;
  const uint32_t entries = lists.entries;
  if (MostLongLists(entries) == 0) return found;
  LongLists& long_lists = found.long_lists;
  long_lists.entries = entries;
  FGNN_ASSIGN_OR_RETURN(long_lists.counts, Make<uint32_t>(2));
  FGNN_ASSIGN_OR_RETURN(long_lists.lists,
                        Make<LongList>(MostLongLists(entries)));
  FGNN_ASSIGN_OR_RETURN(long_lists.chunks,
                        Make<ListChunk>(MostChunks(entries)));
  FGNN_RETURN_IF_ERROR(CudaStatus(
      LaunchFindLongLists(lists.indptr, lists.num_lists, long_lists, stream_),
      "cannot find long lists"));
  return found;
}

absl::Status BatchRun::SumLists(const DeviceLists& lists,
                                NeighborSumsArgs args) const {
  args.indptr = lists.indptr;
  args.indices = lists.indices;
  args.num_lists = lists.num_lists;
  args.long_lists = lists.long_lists;
  if (lists.long_lists.counts != nullptr) {
    FGNN_ASSIGN_OR_RETURN(
        args.partials,
        Make<float>(uint64_t{MostChunks(lists.entries)} * args.columns));
  }
  return CudaStatus(LaunchNeighborSums(args, stream_),
                    "cannot sum rows of neighbours");
}

absl::StatusOr<CudaLayerOutput> BatchRun::FinishOutput(
    float* z, uint64_t rows, uint64_t columns, uint64_t bias, bool plainly,
    const Dropout& dropout) const {
  DropoutArgs args;
  args.row = parameters_->Floats(bias);
  args.columns = static_cast<uint32_t>(columns);
  args.count = rows * columns;
  args.from = z;
  args.to = z;
  if (!plainly) {
    args.key = dropout.key;
    args.threshold = dropout.threshold;
    args.scale = dropout.scale;
    args.relu = true;
    args.to_type = type_;
    if (type_ != FeatureType::kFloat32) {
      FGNN_ASSIGN_OR_RETURN(args.to, MakeNumbers(args.count));
    }
  }
  FGNN_RETURN_IF_ERROR(
      CudaStatus(LaunchDropout(args, stream_), "cannot end a layer"));
  CudaLayerOutput output;
  if (plainly) {
    output.logits = z;
  } else {
    output.rows = args.to;
  }
  return output;
}

absl::StatusOr<void*> BatchRun::DropPositive(float* y, uint64_t count,
                                             const Dropout& dropout) const {
  DropoutArgs args;
  args.key = dropout.key;
  args.threshold = dropout.threshold;
  args.scale = dropout.scale;
  args.relu = true;
  args.count = count;
  args.from = y;
  args.to_type = type_;
  args.to = y;
  if (type_ != FeatureType::kFloat32) {
    FGNN_ASSIGN_OR_RETURN(args.to, MakeNumbers(count));
  }
  FGNN_RETURN_IF_ERROR(
      CudaStatus(LaunchDropout(args, stream_), "cannot end a layer"));
  return args.to;
}

// Sums over lists without entries: each row alone.
absl::Status BatchRun::AddRows(const void* x, uint32_t rows, uint32_t columns,
                               bool adds, float* out) const {
  const uint64_t bounds = uint64_t{rows} + 1;
  FGNN_ASSIGN_OR_RETURN(uint32_t* const indptr, Make<uint32_t>(bounds));
  FGNN_RETURN_IF_ERROR(
      CudaStatus(cudaMemsetAsync(indptr, 0, bounds * sizeof(uint32_t), stream_),
                 "cannot clear memory"));
  NeighborSumsArgs args;
  args.indptr = indptr;
  args.num_lists = rows;
  args.columns = columns;
  args.type = type_;
  args.x = x;
  args.out = out;
  args.num_own = rows;
  args.adds_to_out = adds;
  return CudaStatus(LaunchNeighborSums(args, stream_), "cannot add rows");
}

absl::StatusOr<void*> BatchRun::FinishGradient(float* gradient,
                                               const void* activations,
                                               uint64_t count,
                                               float scale) const {
  FGNN_RETURN_IF_ERROR(
      CudaStatus(LaunchGradientOfDropout({.scale = scale,
                                          .type = type_,
                                          .activations = activations,
                                          .gradient = gradient,
                                          .count = count},
                                         stream_),
                 "cannot go back through dropout"));
  return AsNumbers(gradient, count);
}

absl::StatusOr<void*> BatchRun::AsNumbers(float* floats, uint64_t count) const {
  if (type_ == FeatureType::kFloat32) return floats;
  FGNN_ASSIGN_OR_RETURN(void* const numbers, MakeNumbers(count));
  FGNN_RETURN_IF_ERROR(CudaStatus(
      LaunchDropout(
          {.count = count, .from = floats, .to_type = type_, .to = numbers},
          stream_),
      "cannot round numbers"));
  return numbers;
}

}  // namespace fgnn
