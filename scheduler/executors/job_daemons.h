// The daemons that one job has on one host, as the job's thread uses them. This
// is the only interface to a host that JobExecutors uses.
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
  // Number of the executor in the job; where devices take turns, the number of
  // its device.
  uint32_t number = 0;
};

// Memory of a job that its daemons returned to a scheduler that was started
// again.
struct ReturnedMemory {
  UniqueFd segment;
  UniqueFd table;  // The newest shared table; not valid: there is none.
};

struct MemoryUse {
  // Bytes of the job's daemons and of this process, shared pages counted once.
  uint64_t resident_bytes = 0;
  uint64_t anonymous_bytes = 0;  // Bytes of the job's daemons.
};

// Facts about the service that are the same for all jobs.
struct HostTerms {
  // Number of this start of the scheduler. A daemon refuses an attach with the
  // number of an earlier start.
  uint64_t generation = 0;
  // Ids of the jobs that an earlier scheduler left running. A daemon that
  // registers may still be attached to one.
  std::vector<std::string> interrupted_jobs;
  // Time within which a started daemon has to register.
  std::chrono::milliseconds register_within{60'000};
  // Command that starts a daemon, with {role} and {device} in the places of
  // "sampler" and "cpu:0"; empty: the host starts missing daemons itself.
  std::string start_command = "";
};

// The host makes the handle and outlives it. Not thread-safe: for the job's
// thread alone. While the job has no daemons, the answers are as if all its
// daemons were gone.
class JobDaemons {
 public:
  // Calls Leave().
  virtual ~JobDaemons() = default;
  virtual const HostTerms& terms() const = 0;

  // ---- What an earlier scheduler left; to be called before Want().
  // Returns true once every daemon of the earlier scheduler has registered or
  // ended, false at the deadline.
  virtual bool WaitForSurvivors(Deadline deadline) = 0;
  // Returns what daemons of the job have returned; nullopt: no segment. A later
  // call does not return it again.
  virtual std::optional<ReturnedMemory> TakeReturned() = 0;

  // ---- Having daemons.
  // Gives the job the daemons of `placements`, and starts those that are
  // missing. `placements` are numbered as if the job were alone
  // (PlaceExecutors()); names may differ, see executor_names.h. Stops the job's
  // other daemons, and daemons without a job that are in the way. Waits until
  // these have ended, but not until the job's daemons have registered.
  // `restarts` is the most restarts of each daemon in ten minutes. `lost` are
  // numbers of lost devices of a segment that is to be taken over; their
  // daemons are not started. A further call starts afresh.
  virtual absl::Status Want(const std::vector<ExecutorPlacement>& placements,
                            uint32_t restarts,
                            const std::vector<uint32_t>& lost) = 0;
  // Takes the job's daemons from it; they belong to no job from now on. Does
  // nothing if Want() was not called since the last Leave().
  virtual void Leave() = 0;
  // Returns OK, or why the job cannot go on: since Want(), a daemon died too
  // often or reported a failure.
  virtual absl::Status Failure() const = 0;
  // Waits until every daemon of the job is registered, except those of lost
  // devices. Returns the daemons that are not registered at the deadline, as
  // "sampler.0 on cpu:0".
  virtual std::vector<std::string> Unregistered(Deadline deadline) const = 0;
  // Lets the job go on without the devices of unregistered daemons, and logs
  // `why`. Returns false if the job cannot go on without one of them.
  virtual bool LoseUnregistered(const std::string& why) = 0;
  // Returns the restarts of the job's daemons since Want().
  virtual uint32_t restarts() const = 0;
  virtual std::vector<ExecutorView> Views() const = 0;
  // Measures the memory of the job's daemons. The cost is a walk over their
  // page tables.
  virtual MemoryUse MeasureMemory() = 0;

  // ---- The segment; to be called after Want().
  // Opens a new segment, to which no daemon is attached. `segment` is borrowed
  // until CloseSegment().
  virtual void OpenSegment(JobSegment* segment) = 0;
  // Opens a returned segment, which is borrowed until CloseSegment(). Call it
  // after WaitForSurvivors(). Daemons that have registered for the segment are
  // attached to it. What all other processes held in it is given back.
  virtual void TakeOverSegment(JobSegment* segment) = 0;
  virtual void CloseSegment() = 0;

  // ---- Single daemons.
  // Returns the job's registered daemons that have the role. `attached`: only
  // those that are attached to the job.
  virtual std::vector<DaemonAddress> Find(ExecutorRole role,
                                          bool attached) const = 0;
  // Returns the names of idle daemons that could be attached now.
  virtual std::vector<std::string> Attachable() const = 0;
  // Gives the daemon an owner index. NotFound: it is no longer idle.
  virtual absl::StatusOr<AttachTicket> BeginAttach(const std::string& name) = 0;
  // Notes that the daemon has answered AttachJob.
  virtual void EndAttach(const AttachTicket& ticket) = 0;
  // Returns the daemons that hold an owner index of the job, before Want() too.
  // BeginAttach() gave it to them, or they registered with it.
  virtual std::vector<DaemonAddress> Attached() const = 0;
  // Notes that the daemon has answered DetachJob and holds nothing any more.
  virtual void EndDetach(const DaemonAddress& daemon) = 0;
  // Returns true once Attached() is empty, false at the deadline.
  virtual bool WaitUntilDetached(Deadline deadline) const = 0;
  // Sends SIGKILL and logs `why`. What follows is as for any death.
  virtual void Kill(const DaemonAddress& daemon, const std::string& why) = 0;
  // Returns true once this process is gone, false at the deadline.
  virtual bool WaitUntilGone(const DaemonAddress& daemon,
                             Deadline deadline) const = 0;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_JOB_DAEMONS_H_
