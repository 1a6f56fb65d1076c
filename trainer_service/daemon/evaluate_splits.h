// Scores of a job's weights on splits of its dataset.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_EVALUATE_SPLITS_H_
#define FGNN_TRAINER_SERVICE_DAEMON_EVALUATE_SPLITS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/executors/executor_messages.h"
#include "trainer_service/backend/trainer_backend.h"

namespace fgnn {

// Returns the scores of splits of the back end's dataset. If the job predicts
// links, returns the ranks of the splits' edges. InvalidArgument: a split is
// not "train", "valid" or "test". Aborted: a score is not finite. Otherwise
// returns errors of the back end.
absl::StatusOr<Evaluation> EvaluateSplits(
    TrainerBackend& backend, const ScoredWeights& weights,
    const std::vector<std::string>& splits);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_EVALUATE_SPLITS_H_
