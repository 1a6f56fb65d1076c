// The segment of a running job, as its maker sees it: who holds which owner
// index in it, and what is to be done when one dies.
#ifndef FGNN_SCHEDULER_EXECUTORS_JOB_SEGMENT_H_
#define FGNN_SCHEDULER_EXECUTORS_JOB_SEGMENT_H_

#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "scheduler/executors/job_devices.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/threads/mutex.h"
#include "shared/base/types.h"
#include "shared/queue/global_queue.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/segment.h"

namespace fgnn {

// Thread-safe.
class JobSegment {
 public:
  // Errors as those of Segment::Create().
  static absl::StatusOr<std::unique_ptr<JobSegment>> Create(
      std::string job_id, const SegmentOptions& options);
  // One that an earlier scheduler made and a daemon has kept. Errors as those
  // of Segment::Attach().
  static absl::StatusOr<std::unique_ptr<JobSegment>> TakeOver(
      std::string job_id, UniqueFd fd);

  const std::string& job_id() const { return job_id_; }
  int fd() const { return segment_->fd(); }
  uint64_t total_bytes() const { return segment_->total_bytes(); }
  const SegmentOptions& options() const { return segment_->options(); }
  GlobalQueue& queue() { return queue_; }
  GradientBoard& board() { return board_; }
  JobDevices& devices() { return devices_; }
  CachePlan cache_plan() const { return segment_->cache_plan(); }
  void SetCachePlan(const CachePlan& plan) { segment_->SetCachePlan(plan); }
  void SetRateFactor(double factor) { segment_->SetRateFactor(factor); }

  // Sees to it that the newest version of the weights, which it returns, stays
  // the newest until LetVersionGo(): trainers wait meanwhile. nullopt: a
  // trainer makes a step just now, there are no weights yet, or all owner
  // indices are taken. For the job's thread alone.
  std::optional<uint64_t> HoldVersion();
  void LetVersionGo();

  // Memory that the job's trainers share for one evaluation: a memfd that can
  // only grow, empty at first. There is one at a time. Returns its number, from
  // 1, which no other one of this job gets: who comes too late for the one
  // before does not get into this one.
  absl::StatusOr<uint64_t> OpenScratch();
  // Whoever has it mapped keeps it.
  void CloseScratch();
  // NotFound: it is closed by now.
  absl::StatusOr<UniqueFd> Scratch(uint64_t number) const;
  // Pages that have been touched. 0: there is none.
  uint64_t scratch_bytes() const;

  // An index that no living process has. Goes round, so that a number comes
  // back as late as can be. ResourceExhausted: all kMaxOwners are taken.
  absl::StatusOr<OwnerIndex> TakeOwner();
  // After an orderly detach.
  void ReleaseOwner(OwnerIndex owner);

  struct Reclaimed {
    uint32_t slots = 0;
    bool lease = false;  // Of a step.
    // Batches that were in the hands of two processes when those crashed.
    std::vector<BatchSeq> poison;
  };
  // Only once the kernel has said that the process with this index is dead:
  // gives back what it held, then the index. `crashed`: by its own doing.
  Reclaimed ReclaimDead(OwnerIndex owner, bool crashed);
  // Of a segment that was taken over, once all other processes that were
  // attached to it are known to be dead: gives back what those held.
  uint32_t ReclaimAllBut(const std::vector<OwnerIndex>& living);

 private:
  JobSegment(std::string job_id, std::unique_ptr<Segment> segment);

  const std::string job_id_;
  const std::unique_ptr<Segment> segment_;
  GlobalQueue queue_;
  GradientBoard board_;
  JobDevices devices_;
  // For HoldVersion(); no process but this one has that index.
  OwnerIndex holder_index_ = kNoOwner;
  std::optional<GradientBoard> holder_;
  std::optional<StepLease> held_;
  mutable Mutex mutex_;
  UniqueFd scratch_ ABSL_GUARDED_BY(mutex_);
  // Number of the last one.
  uint64_t scratch_number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::bitset<kMaxOwners + 1> taken_ ABSL_GUARDED_BY(mutex_);
  // Crashes of those who held a batch.
  std::map<BatchSeq, int> crashes_ ABSL_GUARDED_BY(mutex_);
  OwnerIndex last_ ABSL_GUARDED_BY(mutex_) = kNoOwner;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_JOB_SEGMENT_H_
