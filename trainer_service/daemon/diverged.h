// The errors of a job whose numbers are not finite any more. All are Aborted
// and say what can be done about it.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_DIVERGED_H_
#define FGNN_TRAINER_SERVICE_DAEMON_DIVERGED_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "shared/config/objective.h"
#include "trainer_service/backend/trainer_backend.h"

namespace fgnn {

// Returns the error for `what`, which is not finite.
absl::Status Diverged(absl::string_view what, Objective objective);

// Returns OK if the loss of a batch fits into a float, which is stored.
absl::Status CheckLoss(double loss, const TrainingBatch& batch,
                       double learning_rate, Objective objective);

// Returns OK if all scores of a split are finite.
absl::Status CheckScores(const SplitScore& score, Objective objective);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_DIVERGED_H_
