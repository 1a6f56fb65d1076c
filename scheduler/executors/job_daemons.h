// The daemons that one job has on one host, as the job's thread uses them.
// JobExecutors knows a host by this alone.
#ifndef FGNN_SCHEDULER_EXECUTORS_JOB_DAEMONS_H_
#define FGNN_SCHEDULER_EXECUTORS_JOB_DAEMONS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/executors/daemon_address.h"
#include "scheduler/executors/executor_view.h"
#include "scheduler/executors/job_segment.h"
#include "scheduler/planning/placement.h"
#include "shared/base/clock.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/types.h"

namespace fgnn {

struct AttachTicket {
  DaemonAddress daemon;
  OwnerIndex owner = kNoOwner;
  ExecutorRole role = ExecutorRole::kSampler;
  // Number in the job; where executors take turns, the number of the device.
  uint32_t number = 0;
};

struct MemoryUse {
  // Bytes of the job's daemons and of this process, shared pages counted once.
  uint64_t resident_bytes = 0;
  uint64_t anonymous_bytes = 0;  // Bytes of the job's daemons.
};

// What the service says to all jobs.
struct HostTerms {
  // Number of this start of the scheduler. A daemon refuses an attach of an
  // earlier one.
  uint64_t generation = 0;
  // Jobs that an earlier scheduler left running: a daemon that registers may
  // still be attached to one.
  std::vector<std::string> interrupted_jobs;
  // A daemon that was started registers within this time.
  std::chrono::milliseconds register_within{60'000};
};

// Made by its host, which outlives it. Not thread-safe: for the job's thread
// alone. What is asked while the job has no daemons is answered as if all of
// them were gone.
class JobDaemons {
 public:
  // As Leave().
  virtual ~JobDaemons() = default;
  virtual const HostTerms& terms() const = 0;

  // ---- What an earlier scheduler left; before Want().
  // Returns true once every daemon that it left has registered or ended, false
  // at the deadline.
  virtual bool WaitForSurvivors(Deadline deadline) = 0;
  // Returns the segment that daemons of the job have returned, once.
  virtual std::optional<UniqueFd> TakeReturnedSegment() = 0;

  // ---- Having daemons.
  // Makes these the job's daemons. `placements` are numbered as if the job were
  // alone (PlaceExecutors()); names may differ, see executor_names.h. Stops
  // those that the job had else, and nobody's that are in their way; starts
  // those that are missing. Waits for others to end, not for these to register.
  // `restarts`: of each daemon in ten minutes. `lost`: devices, by number, of a
  // segment that is to be taken over; their daemons are not started. May be
  // called again: the job then starts afresh.
  virtual absl::Status Want(const std::vector<ExecutorPlacement>& placements,
                            uint32_t restarts,
                            const std::vector<uint32_t>& lost) = 0;
  // The daemons that the job has are nobody's from now on. Does nothing where
  // Want() was not called since.
  virtual void Leave() = 0;
  // Returns OK, or why the job cannot go on since Want(): a daemon died too
  // often or reported it.
  virtual absl::Status Failure() const = 0;
  // Waits until every daemon of the job is registered, but for those of lost
  // devices. Returns those that are not at the deadline, "sampler.0 on cpu:0".
  virtual std::vector<std::string> Unregistered(Deadline deadline) const = 0;
  // The job goes on without the devices of those, `why` goes to the log.
  // Returns false if there is one that it cannot go on without.
  virtual bool LoseUnregistered(const std::string& why) = 0;
  // Returns the restarts of the job's daemons since Want().
  virtual uint32_t restarts() const = 0;
  virtual std::vector<ExecutorView> Views() const = 0;
  // Costs a walk over the daemons' page tables.
  virtual MemoryUse MeasureMemory() = 0;

  // ---- The segment; behind Want().
  // `segment` is borrowed until CloseSegment(). Nobody is attached to it.
  virtual void OpenSegment(JobSegment* segment) = 0;
  // The same with one that was returned; after WaitForSurvivors(). Daemons that
  // have registered for it are attached; what all others held is given back.
  virtual void TakeOverSegment(JobSegment* segment) = 0;
  virtual void CloseSegment() = 0;

  // ---- Single daemons.
  // Returns registered daemons that have the role; `attached`: to the job.
  virtual std::vector<DaemonAddress> Find(ExecutorRole role,
                                          bool attached) const = 0;
  // Returns the names of idle daemons that could be attached now.
  virtual std::vector<std::string> Attachable() const = 0;
  // Gives the daemon an owner index. NotFound: it is no longer idle.
  virtual absl::StatusOr<AttachTicket> BeginAttach(const std::string& name) = 0;
  // Its AttachJob was answered.
  virtual void EndAttach(const AttachTicket& ticket) = 0;
  // Returns those that hold an owner index of the job, before Want() too: that
  // BeginAttach() gave them, or that they registered with.
  virtual std::vector<DaemonAddress> Attached() const = 0;
  // Its DetachJob was answered: it holds nothing any more.
  virtual void EndDetach(const DaemonAddress& daemon) = 0;
  // Returns true once Attached() is empty, false at the deadline.
  virtual bool WaitUntilDetached(Deadline deadline) const = 0;
  // SIGKILL, `why` goes to the log. The rest is as for any death.
  virtual void Kill(const DaemonAddress& daemon, const std::string& why) = 0;
  // Returns true once this process is gone, false at the deadline.
  virtual bool WaitUntilGone(const DaemonAddress& daemon,
                             Deadline deadline) const = 0;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_JOB_DAEMONS_H_
