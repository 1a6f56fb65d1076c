// A linear map of sums over vertices and their neighbours (see
// NeighborLinearOptions) on a CUDA device, forwards and backwards: a part of a
// layer.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_CUDA_NEIGHBOR_LINEAR_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_CUDA_NEIGHBOR_LINEAR_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer_service/nn/cuda/layers/cuda_layer.h"
#include "trainer_service/nn/cuda/layers/transposed_lists.h"
#include "trainer_service/nn/layer_options.h"

namespace fgnn {

// Keeps what its backward pass needs, until the batch ends. Not thread-safe.
class CudaNeighborLinear {
 public:
  explicit CudaNeighborLinear(const NeighborLinearOptions& options)
      : options_(options) {}

  const NeighborLinearOptions& options() const { return options_; }
  DeviceWeight weight() const { return {options_.weight_offset, out(), in()}; }

  // See CudaLayer.
  std::optional<uint32_t> DenseRows(const BlockView& block) const;
  // Returns y [D, out], without b.
  absl::StatusOr<float*> Forward(const BatchRun& run, const DeviceBlock& block,
                                 const CudaLayerInput& x);
  // Returns the same of whole neighbourhoods: see CudaLayer::Infer().
  absl::StatusOr<float*> Infer(const BatchRun& run, const DeviceBlock& block,
                               const CudaInferenceRows& rows);
  // Turns dy [D, out] (numbers) into the gradients of the parameters and of x:
  // see CudaLayer::Backward().
  absl::StatusOr<void*> Backward(const BatchRun& run, const DeviceBlock& block,
                                 const void* dy, float input_scale);

 private:
  bool TransformsFirst(uint32_t num_destinations, uint32_t num_sources,
                       uint64_t entries) const;
  // Returns true if the gradient goes on from sums to sources.
  bool ReachesSources() const { return transforms_first_ || !options_.first; }
  uint64_t in() const { return static_cast<uint64_t>(options_.in); }
  uint64_t out() const { return static_cast<uint64_t>(options_.out); }
  DeviceWeight self_weight() const {
    return {*options_.self_offset, out(), in()};
  }
  float OwnFactor(const BatchRun& run) const {
    return options_.epsilon_offset
               ? 1 + run.HostWeight(*options_.epsilon_offset)
               : 1;
  }

  // Sums `rows` (numbers) over the destinations' neighbours to `out`.
  absl::Status SumNeighbors(const BatchRun& run, const DeviceBlock& block,
                            const void* rows, uint64_t columns,
                            FeatureType out_type, void* out,
                            const PlacedRows& placed = {}) const;
  // Sums the gradients of sums (numbers) that a source is in, to `out`.
  absl::Status SumGradients(const BatchRun& run, const DeviceBlock& block,
                            const void* sums_gradient, uint64_t columns,
                            FeatureType out_type, void* out) const;
  absl::Status GradientOfMessages(const BatchRun& run, const DeviceBlock& block,
                                  const void* dy);
  absl::Status GradientOfParameters(const BatchRun& run,
                                    const DeviceBlock& block, const void* dy);
  absl::StatusOr<void*> GradientOfInput(const BatchRun& run,
                                        const DeviceBlock& block,
                                        const void* dy, float input_scale);

  const NeighborLinearOptions options_;

  // State of the last Forward().
  bool transforms_first_ = false;
  CudaLayerInput x_;
  // Numbers. Aggregate first: sums or means [D, in], and their gradient.
  // Transform first: products of x [S, out], and their gradient.
  void* messages_ = nullptr;
  void* messages_gradient_ = nullptr;
  TransposedLists transposed_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_CUDA_NEIGHBOR_LINEAR_H_
