// The stage behind a hidden layer that is normalised, or whose inputs are added
// to its output, forwards and backwards (He et al., "Deep Residual Learning",
// section 3.2):
//   h = dropout(relu(norm(z) + x))
// Other layers end in ReLU and dropout themselves.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_HIDDEN_STAGE_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_HIDDEN_STAGE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/cpu/kernels/dropout.h"
#include "trainer_service/nn/layer_options.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Number: see GnnLayer. Keeps what its backward pass needs. Borrows the team.
// Not thread-safe; may throw std::bad_alloc.
template <typename Number>
class HiddenStage {
 public:
  HiddenStage(const HiddenStageOptions& options, ThreadTeam* team);

  // z [rows, columns] is overwritten and borrowed. x [rows, columns] is read if
  // inputs are added. weights [P]. Returns h, with room for `room` more rows
  // behind it, which the stage owns until the next Forward().
  absl::StatusOr<Number*> Forward(absl::Span<const float> weights, int64_t rows,
                                  float* z, const Number* x,
                                  const Dropout& dropout, int64_t room = 0);

  // dy [rows, columns] is the gradient before ReLU and dropout. Returns the
  // gradient of z: dy itself, or `room` [rows, columns], which may lie in the
  // place of z. Writes to their places in `gradient` [P]: the gradients of
  // scale and shift, and the batch's measurements for the running mean and
  // variance.
  absl::StatusOr<const Number*> Backward(const Number* dy, Number* room,
                                         absl::Span<float> gradient);

  // Adds the part of x to its gradient before the ReLU and dropout (of
  // `input_scale`) that made it, [rows, columns]. Does nothing if inputs are
  // not added.
  absl::Status AddGradientOfInputs(const Number* dy, const Number* x,
                                   float input_scale, Number* dx);

 private:
  // Memory of one worker, in f32.
  struct WorkerRows {
    Scratch<float> left;
    Scratch<float> right;
  };
  int64_t size() const { return rows_ * options_.columns; }
  absl::Status MeasureColumns(const float* z);
  absl::Status SumGradients(const Number* dy);
  const float* AsFloats(const Number* numbers, int64_t count,
                        Scratch<float>& room) const;
  float* InFloats(Number* numbers, int64_t count, Scratch<float>& room) const;
  // Sets out [width] to the sums over all rows. sum(first, rows, worker, out
  // [width]) computes the sums over some rows.
  template <typename Sum>
  absl::Status SumOverRows(int64_t width, const Sum& sum,
                           std::vector<float>* out);

  const HiddenStageOptions options_;
  ThreadTeam* const team_;
  std::vector<WorkerRows> worker_rows_;

  // State of the last Forward().
  int64_t rows_ = 0;
  float* normalized_ = nullptr;  // [rows, columns]
  absl::Span<const float> scale_;
  std::vector<float> mean_;               // [columns], only with kBatch.
  std::vector<float> variance_;           // Variance among the batch's rows.
  std::vector<float> inverse_deviation_;  // [columns], or [rows] with kLayer.
  // State of the last Backward().
  std::vector<float> scale_and_shift_gradient_;  // [2 * columns]

  Scratch<Number> output_;
  Scratch<float> partials_;
};

// Returns a layer's inference with this stage behind it. Normalisation over a
// batch uses the running mean and variance. Borrows weights [P].
std::unique_ptr<const LayerInference> WithHiddenStage(
    const HiddenStageOptions& options, absl::Span<const float> weights,
    std::unique_ptr<const LayerInference> layer);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_HIDDEN_STAGE_H_
