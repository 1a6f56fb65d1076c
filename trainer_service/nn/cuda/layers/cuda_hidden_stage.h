// The stage behind a hidden layer on a CUDA device: the law is that of
// nn/cpu/layers/hidden_stage.h.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_CUDA_HIDDEN_STAGE_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_CUDA_HIDDEN_STAGE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainer_service/nn/cuda/batch_run.h"
#include "trainer_service/nn/cuda/kernels/normalization.h"
#include "trainer_service/nn/dropout_rule.h"
#include "trainer_service/nn/layer_options.h"

namespace fgnn {

// Keeps what its backward pass needs, until the batch ends. Functions queue
// work on the run's stream and return the errors of BatchRun. Only a part of a
// batch, which is not normalised over the batch, may have no rows. Not
// thread-safe.
class CudaHiddenStage {
 public:
  explicit CudaHiddenStage(const HiddenStageOptions& options)
      : options_(options) {}

  // z [rows, columns] is overwritten. x [rows, columns] (numbers) is read if
  // inputs are added. Returns h (numbers).
  absl::StatusOr<void*> Forward(const BatchRun& run, uint32_t rows, float* z,
                                const void* x, const Dropout& dropout);
  // The same for inference, on a run of f32: normalises with what was measured
  // before, and drops nothing. Until the run's work is done, no other call of
  // the object may follow.
  absl::StatusOr<float*> Infer(const BatchRun& run, uint32_t rows, float* z,
                               const float* x);
  // dy [rows, columns] (numbers) is the gradient before ReLU and dropout.
  // Returns the gradient of z (numbers); it may be dy. Writes the gradients of
  // scale and shift, and what was measured of the batch.
  absl::StatusOr<const void*> Backward(const BatchRun& run, const void* dy);
  // Adds the part of x to its gradient dx [.., columns] (numbers) before the
  // ReLU and dropout (of `input_scale`) that made it, if inputs are added.
  absl::Status AddGradientOfInputs(const BatchRun& run, const void* dy,
                                   const void* x, float input_scale,
                                   void* dx) const;

 private:
  uint32_t columns() const { return static_cast<uint32_t>(options_.columns); }
  uint64_t size() const { return uint64_t{rows_} * columns(); }
  absl::Status MeasureColumns(const BatchRun& run, const float* z);
  // Copies what was measured, for inference.
  absl::Status TakeMeasured(const BatchRun& run);
  // Returns norm(z), or z itself, with x (numbers) added if the stage adds its
  // inputs. Normalises with what it measures now, or with what was measured.
  absl::StatusOr<float*> NormalizeAndAdd(const BatchRun& run, float* z,
                                         const void* x, bool measures);
  // Normalises z with `mean` [columns], or its rows, and adds x (numbers), if
  // there is one. Returns y [rows, columns].
  absl::StatusOr<float*> Normalize(const BatchRun& run, float* z, const void* x,
                                   const float* mean);

  const HiddenStageOptions options_;
  // State of the last Forward().
  uint32_t rows_ = 0;
  float* normalized_ = nullptr;         // [rows, columns]
  float* inverse_deviation_ = nullptr;  // [columns], or [rows] with kLayer.
  std::vector<float> measured_;  // [columns] Inverse deviations of Infer().
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_CUDA_HIDDEN_STAGE_H_
