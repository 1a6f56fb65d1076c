// Batches with the features of their input nodes, some of which are extracted
// while another batch is trained (FGNN, sections 5.2 and 5.3).
//
//   claim(seq) ▶ check ▶ extract features, or find them ▶ Next()
#ifndef FGNN_TRAINER_SERVICE_DAEMON_BATCH_SOURCE_H_
#define FGNN_TRAINER_SERVICE_DAEMON_BATCH_SOURCE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/threads/thread.h"
#include "shared/minibatch/task.h"
#include "shared/queue/device_table.h"
#include "shared/queue/global_queue.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/segment.h"
#include "trainer_service/backend/trainer_backend.h"

namespace fgnn {

// A claimed batch that is not done yet, checked, with its features.
struct ExtractedBatch {
  ReadSlot slot;
  TaskView task;  // Borrowed from the slot's block.
  std::unique_ptr<TaskFeatures> features;
  uint64_t num_cache_hits = 0;  // Input nodes that were cached.
  double seconds = 0;           // What the extraction took.
  bool was_ahead = false;       // Extracted while something else was done.
};

// Which batches may be claimed before they are asked for: none, those of the
// open steps, or those of the step after them too.
struct AheadLimit {
  enum Batches { kNothing, kOpenSteps, kNextStep };
  Batches batches = kNextStep;
  // Trainers that train now. This one keeps no more than its share of a step's
  // batches waiting, so that no other is left without.
  uint32_t num_trainers = 1;
};

struct BatchSourceOptions {
  OwnerIndex owner = kNoOwner;
  uint32_t device = 0;  // The trainer's, where devices take turns.
  uint32_t ahead = 0;   // The most batches that wait, extracted.
  AheadLimit limit;     // The first one; see LimitAhead().
};

// Next…(), LimitAhead() and GiveBack…(): one caller at a time. A thread of its
// own works ahead, if it may.
class BatchSource {
 public:
  // Borrows all. What is cached follows the segment's plan for the device.
  BatchSource(const BatchSourceOptions& options, TrainerBackend* backend,
              Segment* segment);
  // Batches that wait go back to the queue.
  ~BatchSource();
  BatchSource(const BatchSource&) = delete;
  BatchSource& operator=(const BatchSource&) = delete;

  // A batch of the open steps; nullopt: there is none now. Waits for one that
  // is being extracted, 100 ms at most.
  // Cancelled: the job was stopped. DataLoss: a batch arrives damaged again and
  // again. Else errors of TrainerBackend::Extract() and CacheAsPlanned().
  absl::StatusOr<std::optional<ExtractedBatch>> Next();

  // Nothing beyond the limit is claimed ahead from now on; one batch may be
  // under way.
  void LimitAhead(AheadLimit limit);
  // Where nothing may be claimed ahead: returns a batch of the open steps that
  // waits extracted; nullopt: there is none. Errors as Next().
  absl::StatusOr<std::optional<ExtractedBatch>> NextAhead();
  // There too: gives the batches that wait back to the queue. Returns false if
  // one is being extracted.
  bool GiveBackAhead();

  // Gives up the memory that its cache is not to have while the device does
  // something else.
  void GiveUpCache();

  // Takes a batch's features, whose memory is used again.
  void GiveBack(std::unique_ptr<TaskFeatures> features);

  // A number that rises while the thread that works ahead lives; nullopt: there
  // is none. Any thread.
  std::optional<uint64_t> turns() const;

 private:
  absl::StatusOr<std::optional<ExtractedBatch>> TakeWaiting(
      const OpenSteps& open, bool* is_settled);
  absl::StatusOr<std::optional<ExtractedBatch>> Claim(BatchSeq first,
                                                      BatchSeq last);
  absl::StatusOr<std::optional<ExtractedBatch>> Check(ReadSlot slot);
  absl::Status Reject(ReadSlot slot, const absl::Status& reason);
  absl::Status Extract(TrainerThread thread, ExtractedBatch* batch);
  void WorkAhead();
  absl::Status LoopAhead();
  absl::StatusOr<std::optional<ExtractedBatch>> ClaimAhead();
  bool MayKeepMore(uint64_t step);
  // Whether anything is claimed or extracted ahead now. With mutex_ held.
  bool IsUnderWay() const { return is_claiming_ || extracting_.has_value(); }

  const BatchSourceOptions options_;
  const uint64_t job_key_;
  TrainerBackend* const backend_;
  const SegmentOptions& plan_;
  const JobShape& shape_;
  GlobalQueue queue_;
  GradientBoard board_;
  DeviceTable table_;
  // A step whose next batch lies in an overflow block: left until it opens.
  // Only the thread that works ahead reads and writes it.
  std::optional<uint64_t> overflowing_step_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // The following are guarded by mutex_.
  AheadLimit limit_;
  std::deque<ExtractedBatch> waiting_;
  bool is_claiming_ = false;  // The thread that works ahead looks for a batch.
  std::optional<BatchSeq> extracting_;  // The batch that it extracts.
  std::map<uint64_t, uint32_t> kept_;   // Batches kept so far, per step.
  std::vector<std::unique_ptr<TaskFeatures>> spare_;  // Reset.
  std::map<BatchSeq, int> rejections_;
  absl::Status failure_;  // What ended the thread that works ahead.

  std::atomic<bool> stopping_ = false;
  std::atomic<uint64_t> turns_ = 0;
  std::optional<Thread> thread_;  // Last: it uses the above.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_BATCH_SOURCE_H_
