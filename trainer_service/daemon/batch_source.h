// Batches with the features of their input nodes. The source extracts some
// batches while the trainer trains another one (FGNN, sections 5.2 and 5.3).
//
//   claim(seq) ▶ check ▶ extract features, or find them ▶ Next()
//
// The loop and the thread ahead claim one at a time, and the thread lets the
// loop extract an earlier batch first. So the batches of one trainer that works
// on steps in their order are extracted in their order, if samplers publish
// them in it. The thread also waits until the loop has cached what is planned.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_BATCH_SOURCE_H_
#define FGNN_TRAINER_SERVICE_DAEMON_BATCH_SOURCE_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/threads/mutex.h"
#include "shared/base/threads/thread.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/segment.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/daemon/ahead_choice.h"
#include "trainer_service/daemon/batch_features.h"
#include "trainer_service/daemon/checked_claims.h"
#include "trainer_service/daemon/look_ahead.h"
#include "trainer_service/daemon/training_totals.h"

namespace fgnn {

struct BatchSourceOptions {
  OwnerIndex owner = kNoOwner;
  uint32_t device = 0;  // Index of the trainer's device, if devices take turns.
  uint32_t ahead = 0;   // Most extracted batches that wait; 0: no thread ahead.
  AheadLimit limit;     // The first limit; see LimitAhead().
  // Returns the part of each batch for which this trainer's cache is; nullopt:
  // batches are whole. What is claimed ahead is of this part, and other parts
  // come second. Any thread.
  std::function<std::optional<uint32_t>()> home_part = [] {
    return std::nullopt;
  };
  TrainerReport report = {};
};

// One caller at a time, but for progress(). If `ahead` is not 0, a thread of
// the source works ahead.
class BatchSource {
 public:
  // Borrows the back end and the segment. The cache follows the segment's plan
  // for the device.
  BatchSource(const BatchSourceOptions& options, TrainerBackend* backend,
              Segment* segment);
  // Gives the waiting batches back to the queue.
  ~BatchSource();
  BatchSource(const BatchSource&) = delete;
  BatchSource& operator=(const BatchSource&) = delete;

  // Caches what the segment plans, if steps are open. Returns whether there was
  // something to do. Errors as TrainerBackend::CacheAsPlanned(). Next() does it
  // too; a caller that wants to know the seconds of batches alone calls it
  // before.
  absl::StatusOr<bool> FollowCachePlan();

  // Returns a batch of the open steps; nullopt: there is none now. Waits at
  // most 100 ms for a batch that is being extracted. Cancelled: the job was
  // stopped. DataLoss: a batch arrives damaged again and again. Unavailable:
  // another host that has rows of it does not answer; worth another try.
  // Otherwise returns errors of TrainerBackend::Extract() and of
  // FollowCachePlan().
  absl::StatusOr<std::optional<ExtractedBatch>> Next();

  // Returns the batch's part as Next() returns a batch; nullopt: it is not
  // ready. The thread ahead may be at work meanwhile.
  absl::StatusOr<std::optional<ExtractedBatch>> NextPart(const BatchPart& task);

  // Sets the limit: the source claims no batch beyond it from now on. One batch
  // may be under way.
  void LimitAhead(AheadLimit limit);
  // While nothing may be claimed ahead: returns a batch of the open steps that
  // is extracted and waits; nullopt: there is none. Errors as Next().
  absl::StatusOr<std::optional<ExtractedBatch>> NextAhead();
  // While nothing may be claimed ahead: gives the waiting batches back to the
  // queue. Returns false if a batch is being extracted.
  bool GiveBackAhead();

  // Claims nothing ahead until ResumeAhead(), and gives the waiting batches
  // back to the queue. So a trainer that waits for other trainers holds nothing
  // that these may wait for. Returns false if a batch is being extracted, which
  // is given back then.
  bool PauseAhead();
  void ResumeAhead();

  // Gives up a cache that is larger than planned, while the device does other
  // work.
  void GiveUpCache() { features_.GiveUpCache(); }

  // Takes the features of a batch back, to use their memory again.
  void GiveBack(std::shared_ptr<TaskFeatures> features) {
    features_.GiveBack(std::move(features));
  }

  // Returns a number that rises while the thread that works ahead lives;
  // nullopt: there is no such thread. Any thread.
  std::optional<uint64_t> progress() const;

 private:
  // What a thread does between two batches.
  struct Work {
    bool claims = false;               // Whether it looks for a batch.
    std::optional<BatchSeq> extracts;  // The batch that it extracts.
    bool pauses = false;  // Whether nothing is to be claimed ahead of it.
  };

  absl::StatusOr<std::optional<ExtractedBatch>> TakeWaiting(
      const OpenSteps& open, bool* may_claim);
  absl::StatusOr<std::optional<ClaimedBatch>> ClaimNow(BatchSeq end);
  absl::StatusOr<std::optional<ClaimedBatch>> ClaimFirst(BatchSeq end);
  absl::StatusOr<ExtractedBatch> ExtractNow(ClaimedBatch claimed);
  // Shows the back end what comes behind a batch that was claimed, if this
  // trainer is the only one.
  absl::Status LookAheadOf(BatchSeq seq);
  void WorkAhead();
  absl::Status LoopAhead();
  void KeepAhead(absl::StatusOr<ExtractedBatch> batch);
  absl::StatusOr<std::optional<ClaimedBatch>> ClaimAhead();
  bool WaitForEarlier(BatchSeq seq);
  // Whether a batch is being claimed or extracted ahead.
  bool IsUnderWay() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return ahead_.claims || ahead_.extracts.has_value();
  }

  const BatchSourceOptions options_;
  CheckedClaims claims_;
  LookAhead look_ahead_;  // For the thread that claims.
  GradientBoard board_;
  BatchFeatures features_;

  mutable Mutex mutex_;
  CondVar changed_;
  AheadChoice choice_ ABSL_GUARDED_BY(mutex_);
  std::deque<ExtractedBatch> waiting_ ABSL_GUARDED_BY(mutex_);
  Work ahead_ ABSL_GUARDED_BY(mutex_);  // Work of the thread ahead.
  Work loop_ ABSL_GUARDED_BY(mutex_);
  // The error that ended the thread ahead.
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);

  std::atomic<bool> stopping_ = false;
  std::atomic<uint64_t> progress_ = 0;
  std::optional<Thread> thread_;  // Last: it uses the fields above.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_BATCH_SOURCE_H_
