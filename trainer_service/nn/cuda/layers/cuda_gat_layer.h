// GAT on a CUDA device: the law is that of nn/cpu/layers/gat_layer.h.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_CUDA_GAT_LAYER_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_CUDA_GAT_LAYER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer_service/nn/cuda/kernels/attention_rows.h"
#include "trainer_service/nn/cuda/kernels/edge_softmax.h"
#include "trainer_service/nn/cuda/layers/cuda_layer.h"
#include "trainer_service/nn/layer_options.h"

namespace fgnn {

// H heads of C columns, width = H * C; E entries: the edges of the block and
// one from each destination to itself. Messages are numbers; scores and alpha
// are f32.
class CudaGatLayer final : public CudaLayer {
 public:
  explicit CudaGatLayer(const GatLayerOptions& options) : options_(options) {}

  absl::StatusOr<CudaLayerOutput> Forward(const BatchRun& run,
                                          const DeviceBlock& block,
                                          const CudaLayerInput& x,
                                          const Dropout& dropout) override;
  absl::StatusOr<void*> Backward(const BatchRun& run, const DeviceBlock& block,
                                 const void* dz, float input_scale) override;

  bool SendsProducts() const override { return true; }
  DeviceWeight MessageWeight() const override { return weight(); }
  bool ReadsInputs() const override { return false; }
  absl::StatusOr<float*> Infer(const BatchRun& run, const DeviceBlock& block,
                               const CudaInferenceRows& rows) override;

 private:
  uint32_t heads() const { return static_cast<uint32_t>(options_.shape.heads); }
  uint64_t width() const {
    return static_cast<uint64_t>(options_.shape.width());
  }
  HeadColumns shape() const {
    return {heads(), static_cast<uint32_t>(options_.shape.columns)};
  }
  DeviceWeight weight() const {
    return {options_.weight_offset, width(),
            static_cast<uint64_t>(options_.in)};
  }

  // The forward pass, in this order: block_; messages_ and their scores; alpha_
  // and kept_; z [D, width], which is returned.
  absl::Status AddSelfLoops(const BatchRun& run, const DeviceBlock& block);
  absl::Status Transform(const BatchRun& run);
  absl::Status Score(const BatchRun& run);
  absl::Status Attend(const BatchRun& run);
  absl::StatusOr<float*> SumMessages(const BatchRun& run) const;
  // Sets to [E, H] to `from` with attention_dropout_; both may be one array.
  absl::Status DropEntries(const BatchRun& run, const float* from,
                           float* to) const;
  EdgeSoftmaxArgs SoftmaxOfEntries() const;
  // The backward pass.
  absl::Status GradientOfScores(const BatchRun& run, const void* dz);
  absl::Status GradientOfMessages(const BatchRun& run, const void* dz);
  absl::Status GradientOfParameters(const BatchRun& run, const void* dz) const;

  const GatLayerOptions options_;

  // State of the last Forward().
  DeviceBlock block_;  // With self-loops.
  CudaLayerInput x_;
  Dropout attention_dropout_;
  const void* messages_ = nullptr;       // [S, width]
  float* source_scores_ = nullptr;       // [S, H]
  float* destination_scores_ = nullptr;  // [D, H]
  float* alpha_ = nullptr;               // [E, H]
  float* kept_ = nullptr;                // [E, H], alpha_ after dropout.
  // State of the last Backward().
  float* entry_gradient_ = nullptr;        // [E, H], of the scores.
  float* source_gradient_ = nullptr;       // [S, H]
  float* destination_gradient_ = nullptr;  // [D, H]
  void* messages_gradient_ = nullptr;      // [S, width]
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_CUDA_GAT_LAYER_H_
