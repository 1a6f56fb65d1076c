// The batches that a trainer claims, checked.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_CHECKED_CLAIMS_H_
#define FGNN_TRAINER_SERVICE_DAEMON_CHECKED_CLAIMS_H_

#include <cstdint>
#include <map>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/threads/mutex.h"
#include "shared/minibatch/task.h"
#include "shared/queue/global_queue.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/segment.h"
#include "trainer_service/daemon/training_totals.h"

namespace fgnn {

// A claimed batch that is not done yet, as its sampler has written it.
struct ClaimedBatch {
  ReadSlot slot;
  TaskView task;  // Borrowed from the slot's block.
};

// Thread-safe.
class CheckedClaims {
 public:
  // Borrows the segment. Tells `report` of damaged batches.
  CheckedClaims(Segment* segment, OwnerIndex owner, TrainerReport report);

  // Returns the first batch of [first, last) that is ready; nullopt: there is
  // none now. Frees the slots of batches that are done, and has damaged ones
  // sampled again. Cancelled: the job was stopped. DataLoss: a batch arrives
  // damaged again and again.
  // `home_part`: only tasks of that part.
  absl::StatusOr<std::optional<ClaimedBatch>> Claim(
      BatchSeq first, BatchSeq last,
      std::optional<uint32_t> home_part = std::nullopt);
  // Returns exactly this task if it is ready; nullopt: it is not, or not sound.
  absl::StatusOr<std::optional<ClaimedBatch>> ClaimPart(const BatchPart& task);

 private:
  absl::StatusOr<std::optional<ClaimedBatch>> Check(ReadSlot slot);
  absl::Status Reject(ReadSlot slot, const absl::Status& reason);

  const uint64_t job_key_;
  const bool shares_inputs_;  // See TaskView.
  const TrainerReport report_;
  GlobalQueue queue_;
  GradientBoard board_;
  Mutex mutex_;
  // How often a task that was not yet sound has been rejected.
  std::map<TaskNumber, int> rejections_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_CHECKED_CLAIMS_H_
