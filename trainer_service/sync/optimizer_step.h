// What the holder of a step's lease does: sums the step's gradients in batch
// order, makes the optimizer step, publishes the next version.
#ifndef FGNN_TRAINER_SERVICE_SYNC_OPTIMIZER_STEP_H_
#define FGNN_TRAINER_SERVICE_SYNC_OPTIMIZER_STEP_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "shared/queue/gradient_board.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/model.h"
#include "trainer_service/sync/optimizer.h"

namespace fgnn {

// Of P weights and k floats of state each (StateFloatsPerParameter). Borrowed.
struct StepTensors {
  uint64_t step_number = 1;                        // From 1.
  absl::Span<const float> old_weights;             // [P]
  absl::Span<const float> old_optimizer_state;     // [P * k]
  absl::Span<float> new_weights;                   // [P]
  absl::Span<float> new_optimizer_state;           // [P * k]
  std::vector<absl::Span<const float>> gradients;  // In batch order, each [P].
  std::vector<uint32_t> num_seeds;                 // Of each batch.
};

// new = step(old, sum_i num_seeds_i * gradient_i / sum_i num_seeds_i), the sum
// scaled down to the options' clip_norm where it is longer, weight
// by weight, with the learning rate of the step: the same bits for any number
// of threads. Weight decay concerns the parameters that are marked for it.
// Parameters that are measured move towards the sum instead, unscaled.
// InvalidArgument: sizes do not agree, or no batch has a seed.
absl::Status MakeOptimizerStep(const std::vector<ParameterInfo>& parameters,
                               const OptimizerOptions& options,
                               const StepTensors& tensors, ThreadTeam& team);

// Fulfils a lease, of the initial weights (from `seed`) or of a step.
// Publishes on success; otherwise everything stays as it was.
absl::Status FulfilLease(StepLease lease, const Model& model, uint64_t seed,
                         const OptimizerOptions& options, ThreadTeam& team);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_OPTIMIZER_STEP_H_
