// Makes a step of the optimizer: sums the step's gradients in the order of
// batches, then of parts, and moves the weights.
#ifndef FGNN_TRAINER_SERVICE_SYNC_OPTIMIZER_STEP_H_
#define FGNN_TRAINER_SERVICE_SYNC_OPTIMIZER_STEP_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/model.h"
#include "trainer_service/sync/optimizer.h"
#include "trainer_service/sync/step_exchange.h"

namespace fgnn {

// Returns the factor of each gradient in a step: the share of its batch in the
// examples of all batches. A batch has `parts` gradients, which add up to the
// batch's gradient; `batch_examples` has the batch's number once for each. At
// least one batch has examples.
std::vector<float> StepScales(absl::Span<const uint32_t> batch_examples,
                              uint32_t parts);

// Computes new = step(old, sum_i scale_i * gradient_i) weight by weight, with
// the scales of StepScales() and the learning rate of the step. If the norm of
// the sum is above the options' clip_norm, the sum is scaled down to that norm.
// The result has the same bits for any number of threads. Weight decay applies
// only to the parameters that are marked for it. Measured parameters move
// towards the sum instead, which is not scaled for them. Returns
// InvalidArgument if sizes do not agree, or if no batch has an example.
// Aborted: the gradient, a new weight or its new state is not finite; the
// message names step and weight.
absl::Status MakeOptimizerStep(const std::vector<ParameterInfo>& parameters,
                               const OptimizerOptions& options,
                               const StepTensors& tensors, ThreadTeam& team);

// Makes a step of the model's weights by MakeOptimizerStep(). Initial weights
// are drawn from `seed`; their optimizer state is zeros.
absl::Status MakeStep(const Model& model, uint64_t seed,
                      const OptimizerOptions& options,
                      const StepTensors& tensors, ThreadTeam& team);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_OPTIMIZER_STEP_H_
