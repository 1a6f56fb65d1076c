// Shows the back end the batches that come next.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_LOOK_AHEAD_H_
#define FGNN_TRAINER_SERVICE_DAEMON_LOOK_AHEAD_H_

#include <set>

#include "absl/status/status.h"
#include "shared/base/types.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/daemon/checked_claims.h"

namespace fgnn {

// For a trainer that has all batches of the queue to itself: a batch that is
// looked at is claimed for that moment. One call at a time.
class LookAhead {
 public:
  // Borrows both. `end`: end of the job's batches.
  LookAhead(CheckedClaims* claims, const TrainerBackend* backend, BatchSeq end)
      : claims_(*claims), backend_(*backend), end_(end) {}

  // Shows the back end the batches behind `seq` that are ready and that it has
  // not seen, the lowest first. Errors as those of CheckedClaims.
  absl::Status Behind(BatchSeq seq);

 private:
  CheckedClaims& claims_;
  const TrainerBackend& backend_;
  const BatchSeq end_;
  std::set<BatchSeq> shown_;  // Batches behind the one of the last call.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_LOOK_AHEAD_H_
