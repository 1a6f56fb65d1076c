// The segment of a running job, as the scheduler that made it sees it. It knows
// which process holds which owner index, and gives back what a dead process
// held.
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
#include "scheduler/executors/job_hot_table.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/threads/mutex.h"
#include "shared/base/types.h"
#include "shared/executors/chunk_division.h"
#include "shared/queue/global_queue.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/segment.h"

namespace fgnn {

// Thread-safe.
class JobSegment {
 public:
  // Errors as those of Segment::Create() and of SetCachePlan().
  static absl::StatusOr<std::unique_ptr<JobSegment>> Create(
      std::string job_id, const SegmentOptions& options);
  // Takes over a segment that an earlier scheduler made and a daemon has kept,
  // with the trainers' shared table. `table`: a table that a trainer has kept;
  // if it is not the plan's, a new one is made. Errors as those of
  // Segment::Attach() and of SetCachePlan().
  static absl::StatusOr<std::unique_ptr<JobSegment>> TakeOver(
      std::string job_id, UniqueFd fd, UniqueFd table = UniqueFd());

  const std::string& job_id() const { return job_id_; }
  int fd() const { return segment_->fd(); }
  // Returns the bytes of its pages that are there: SegmentBytes(), and what
  // parts of batches have touched of the rest.
  uint64_t touched_bytes() const;
  const SegmentOptions& options() const { return segment_->options(); }
  GlobalQueue& queue() { return queue_; }
  GradientBoard& board() { return board_; }
  JobDevices& devices() { return devices_; }
  CachePlan cache_plan() const { return segment_->cache_plan(); }
  // Sets the plan, except for its table. Where trainers share a table, makes
  // another one for another order or number of rows, and sets its number.
  // Errors as those of HotTable::Create().
  absl::Status SetCachePlan(CachePlan plan);
  void SetRateFactor(double factor) { segment_->SetRateFactor(factor); }

  // Keeps the newest version of the weights the newest until LetVersionGo(),
  // and returns it. Trainers wait meanwhile. Returns nullopt if a trainer makes
  // a step just now, there are no weights yet, or all owner indices are taken.
  // For the job's thread alone.
  std::optional<uint64_t> HoldVersion();
  void LetVersionGo();

  // Makes memory that the job's trainers share for one evaluation: a memfd that
  // can only grow, empty at first. There is one at a time. Returns its number,
  // from 1, unique in this job. So a trainer that comes too late for an earlier
  // evaluation does not get into this one. `division`: see ChunkDivision; by
  // default, one host evaluates.
  absl::StatusOr<uint64_t> OpenScratch(const ChunkDivision& division = {});
  // Closes that memory. A process that has it mapped keeps it.
  void CloseScratch();
  // Returns a descriptor of the memory with this number: that of an evaluation,
  // or the trainers' shared table. NotFound: it is closed by now. Unavailable:
  // see JobHotTable::Descriptor().
  absl::StatusOr<UniqueFd> Scratch(uint64_t number);
  // Returns the bytes of its pages that have been touched; 0: there is no such
  // memory.
  uint64_t scratch_bytes() const;
  // Returns the same of the trainers' shared tables.
  uint64_t table_bytes() const;

  // Takes an owner index that no living process has. Indices are taken
  // cyclically, so that one is reused as late as possible. ResourceExhausted:
  // all kMaxOwners are taken.
  absl::StatusOr<OwnerIndex> TakeOwner();
  // Frees the index after an orderly detach.
  void ReleaseOwner(OwnerIndex owner);

  struct Reclaimed {
    uint32_t slots = 0;
    bool lease = false;   // Whether the process had the lease of a step.
    uint64_t chunks = 0;  // Chunks of the shared table that it was filling.
    // Batches that two processes held when they crashed.
    std::vector<BatchSeq> poison;
  };
  // Gives back what a dead process held, then its index. To be called only once
  // the kernel has said that the process is dead. `crashed`: the process caused
  // its death itself.
  Reclaimed ReclaimDead(OwnerIndex owner, bool crashed);
  // Gives back what all owners but `living` held in a segment that was taken
  // over, and returns the number of slots. To be called once the other
  // processes are known to be dead.
  uint32_t ReclaimAllBut(const std::vector<OwnerIndex>& living);

 private:
  // Memory of an evaluation. The number is that of the last one; 0: none yet.
  struct ScratchMemory {
    UniqueFd fd;
    uint64_t number = 0;
  };

  JobSegment(std::string job_id, std::unique_ptr<Segment> segment);

  const std::string job_id_;
  const std::unique_ptr<Segment> segment_;
  GlobalQueue queue_;
  GradientBoard board_;
  JobDevices devices_;
  // Owner index of HoldVersion(), which this process alone has.
  OwnerIndex holder_index_ = kNoOwner;
  std::optional<GradientBoard> holder_;
  std::optional<StepLease> held_;
  mutable Mutex mutex_;
  ScratchMemory scratch_ ABSL_GUARDED_BY(mutex_);
  JobHotTable table_ ABSL_GUARDED_BY(mutex_);
  // Last number of a scratch memory or of a table; 0: none yet.
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::bitset<kMaxOwners + 1> taken_ ABSL_GUARDED_BY(mutex_);
  // Number of crashes of processes that held a batch.
  std::map<TaskNumber, int> crashes_ ABSL_GUARDED_BY(mutex_);
  OwnerIndex last_ ABSL_GUARDED_BY(mutex_) = kNoOwner;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_JOB_SEGMENT_H_
