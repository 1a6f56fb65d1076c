// Measures what training a job takes, by training a made-up batch.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_TRAINING_PROFILE_H_
#define FGNN_TRAINER_SERVICE_DAEMON_TRAINING_PROFILE_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/config/job_spec.h"
#include "shared/minibatch/hop_size.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/rpc/trainer_calls.h"

namespace fgnn {

// Opens what a trainer of the job opens, with num_threads >= 1. Extracts the
// features of one batch of these sizes and computes its gradient twice. Only
// the second time counts, since every buffer is there then. Frees everything at
// the end. Memory that other threads allocate meanwhile is counted too.
// ResourceExhausted: limits.memory or the machine has less than the least need
// (features of the batch, weights, gradient, optimizer). Then nothing of that
// size was allocated. InvalidArgument: no batch can have these hops. Otherwise
// returns errors of `open` and of TrainerBackend::Gradient().
absl::StatusOr<TrainingProfile> ProfileTraining(const JobSpec& spec,
                                                absl::Span<const HopSize> hops,
                                                int num_threads,
                                                const BackendFactory& open);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_TRAINING_PROFILE_H_
