// What training a job takes, found out by training a batch that is made up.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_TRAINING_PROFILE_H_
#define FGNN_TRAINER_SERVICE_DAEMON_TRAINING_PROFILE_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/config/job_spec.h"
#include "shared/minibatch/hop_size.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/rpc/trainer_calls.h"

namespace fgnn {

// Opens what a trainer of the job opens, with num_threads >= 1, extracts the
// features of one batch of these sizes and computes its gradient twice: the
// second time, when every buffer is there, is the one that counts. Nothing of
// it stays. What other threads allocate meanwhile is counted too.
// ResourceExhausted: the least that this needs (features of the batch, weights,
// gradient, optimizer) is more than limits.memory or the machine has; then
// nothing of that size was allocated. InvalidArgument: the hops are no
// batch's. Else errors of `open` and of TrainerBackend::Gradient().
absl::StatusOr<TrainingNeeds> ProfileTraining(const JobSpec& spec,
                                              absl::Span<const HopSize> hops,
                                              int num_threads,
                                              const BackendFactory& open);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_TRAINING_PROFILE_H_
