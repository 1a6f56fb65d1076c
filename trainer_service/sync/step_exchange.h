// The exchange of a step's gradients. It gathers the gradients of all batches
// of the step, and publishes the weights that a trainer makes from them.
#ifndef FGNN_TRAINER_SERVICE_SYNC_STEP_EXCHANGE_H_
#define FGNN_TRAINER_SERVICE_SYNC_STEP_EXCHANGE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace fgnn {

// Adds the gradients of a step where they lie.
class GradientAdder {
 public:
  virtual ~GradientAdder() = default;
  // Returns sum_i (scales[i] * factor) * gradient_i, [P]: the products are
  // rounded, and each gradient is multiplied and added with one rounding. The
  // result is borrowed until the call after the next one.
  virtual absl::StatusOr<absl::Span<const float>> Add(
      absl::Span<const float> scales, float factor) = 0;
};

// Finds where a gradient [P] that goes to `host` is to be left in the memory of
// the trainer's device as well; null: nowhere.
using DevicePlaceFinder = std::function<float*(absl::Span<const float> host)>;

// The tensors of a step: P weights, and k floats of optimizer state for each
// weight (StateFloatsPerParameter). Borrowed.
struct StepTensors {
  uint64_t step_number = 1;                     // From 1.
  absl::Span<const float> old_weights;          // [P]
  absl::Span<const float> old_optimizer_state;  // [P * k]
  absl::Span<float> new_weights;                // [P]
  absl::Span<float> new_optimizer_state;        // [P * k]
  // The gradients in the order of batches, then of parts, each [P].
  std::vector<absl::Span<const float>> gradients;
  // Number of examples of each gradient's batch: equal for a batch's parts.
  std::vector<uint32_t> batch_examples;
  uint32_t parts = 1;  // Number of gradients of a batch.
  // Adds `gradients` elsewhere; null: who makes the step adds them.
  GradientAdder* adder = nullptr;

  // Whether the step makes the job's first weights. There are no old weights
  // then.
  bool is_initial() const { return old_weights.empty(); }
};

// One call at a time.
class StepExchange {
 public:
  virtual ~StepExchange() = default;

  // A function that writes the new weights and the new state.
  using Make = absl::FunctionRef<absl::Status(const StepTensors& step)>;

  // Calls `make` for the next step and publishes the result. The gradients of
  // all batches must be there, or the job has no weights yet. Returns false,
  // without a call, if gradients are missing or another trainer makes that step
  // now. Returns the errors of `make`, after which nothing has changed, and the
  // errors of the exchange.
  virtual absl::StatusOr<bool> TryStep(Make make) = 0;

  // Returns how the trainer's back end finds places for gradients on its device
  // (TrainerBackend::LeaveGradients). The function borrows from this object and
  // is called between its calls. Empty: the host has all that is exchanged.
  virtual DevicePlaceFinder DevicePlaces() { return nullptr; }
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_STEP_EXCHANGE_H_
