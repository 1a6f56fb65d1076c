// The exchange of a step's gradients: where those of all of its batches come
// from, and where the weights that are made of them go.
#ifndef FGNN_TRAINER_SERVICE_SYNC_STEP_EXCHANGE_H_
#define FGNN_TRAINER_SERVICE_SYNC_STEP_EXCHANGE_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace fgnn {

// The numbers of a step: P weights, and k floats of optimizer state for each
// (StateFloatsPerParameter). Borrowed.
struct StepTensors {
  uint64_t step_number = 1;                        // From 1.
  absl::Span<const float> old_weights;             // [P]
  absl::Span<const float> old_optimizer_state;     // [P * k]
  absl::Span<float> new_weights;                   // [P]
  absl::Span<float> new_optimizer_state;           // [P * k]
  std::vector<absl::Span<const float>> gradients;  // In batch order, each [P].
  std::vector<uint32_t> num_seeds;                 // The seeds of each batch.

  // Whether these are the job's first weights: there are none to step from.
  bool is_initial() const { return old_weights.empty(); }
};

// One call at a time.
class StepExchange {
 public:
  virtual ~StepExchange() = default;

  // Writes the new weights and the new state.
  using Make = absl::FunctionRef<absl::Status(const StepTensors& step)>;

  // If all gradients of the next step are there, or the job has no weights yet,
  // and nobody else makes that step now: calls `make` and publishes the result.
  // Returns false, without a call, if it is not so. Errors of `make`, after
  // which everything is as it was before; else those of the exchange.
  virtual absl::StatusOr<bool> TryStep(Make make) = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_STEP_EXCHANGE_H_
