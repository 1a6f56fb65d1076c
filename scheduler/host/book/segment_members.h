// Which daemons are attached to which job's segment, and under which owner
// index.
#ifndef FGNN_SCHEDULER_HOST_BOOK_SEGMENT_MEMBERS_H_
#define FGNN_SCHEDULER_HOST_BOOK_SEGMENT_MEMBERS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/executors/job_daemons.h"
#include "scheduler/executors/job_segment.h"
#include "scheduler/host/book/daemon_table.h"
#include "scheduler/planning/placement.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

// Not thread-safe: the mutex that guards the table guards this. Calls no daemon
// and never blocks. See JobDaemons for what is not described here.
class SegmentMembers {
 public:
  // Borrows the table.
  explicit SegmentMembers(DaemonTable* table) : table_(table) {}

  // Opens a new segment, to which no daemon is attached. `segment` is borrowed
  // until Close().
  void Open(JobSegment* segment);
  // Opens a segment that is taken over; it is borrowed until Close(). Daemons
  // of its job that have registered for it are attached to it. Gives back what
  // all other processes held, and returns the number of slots.
  uint32_t TakeOver(JobSegment* segment);
  void Close(const std::string& job_id);
  // Returns the jobs whose segment is open.
  std::vector<std::string> open_jobs() const;

  absl::StatusOr<int> SegmentFor(pid_t peer, const std::string& job_id) const;
  absl::StatusOr<UniqueFd> ScratchFor(pid_t peer, const std::string& job_id,
                                      uint64_t number) const;

  std::vector<DaemonAddress> FindAll(const std::string& job_id,
                                     ExecutorRole role, bool attached) const;
  std::vector<std::string> Attachable(const std::string& job_id) const;
  absl::StatusOr<AttachTicket> BeginAttach(const std::string& job_id,
                                           const std::string& name);
  void EndAttach(const AttachTicket& ticket);
  // Returns the daemons that hold an owner index of the job.
  std::vector<DaemonAddress> Attached(const std::string& job_id) const;
  void EndDetach(const DaemonAddress& address);

 private:
  // Returns whether the daemon may get an owner index of the job.
  bool IsIdle(const Daemon& daemon, const std::string& job_id) const;

  DaemonTable* const table_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_BOOK_SEGMENT_MEMBERS_H_
