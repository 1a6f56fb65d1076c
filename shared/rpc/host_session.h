// A daemon's standing with the scheduler: registered, and heard from. Used by
// samplers and trainers. Shows neither gRPC nor protobuf.
#ifndef FGNN_SHARED_RPC_HOST_SESSION_H_
#define FGNN_SHARED_RPC_HOST_SESSION_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/clock.h"
#include "shared/base/types.h"
#include "shared/base/unique_fd.h"

namespace fgnn {

struct HostSessionOptions {
  std::filesystem::path state_dir;
  std::string name;     // "sampler.0"; its socket is executors/<name>.sock.
  std::string role;     // "sampler" or "trainer".
  std::string device;   // "cpu:0-1"
  std::string version;  // Of the program.
  uint32_t segment_layout_version = 0;
  std::chrono::milliseconds call_timeout{5'000};
  // A daemon whose scheduler has been away for so long, and which has finished
  // no batch for as long, ends itself.
  std::chrono::milliseconds orphaned_after{60'000};
};

// Asked for before each heartbeat, on the session's thread. Must not block.
struct WorkReport {
  // Rises while all work loops of the job turn. A daemon that works and whose
  // turns stand still for long is taken for one that hangs, and killed.
  uint64_t work_loop_turns = 0;
  uint64_t batches = 0;  // Finished since the start.
  // Attached to a job and not about to leave it, or in a call that is watched.
  bool working = false;
};

// The job that a daemon is attached to.
struct JobStanding {
  std::string job_id;
  OwnerIndex owner = kNoOwner;
  uint32_t number = 0;  // Of this executor in the job.
  UniqueFd segment;     // A duplicate of its descriptor.
};

// Thread-safe.
class HostSession {
 public:
  struct Callbacks {
    std::function<WorkReport()> report;
    // Asked for when the scheduler turns out to be another one than that of
    // `generation`, on the session's thread. Must not block. What it answers
    // stays true until the new one attaches or detaches this daemon: an older
    // one's calls are to be refused from now on. nullopt: attached to no job.
    // Unavailable: about to be, or not yet detached; ask again.
    std::function<absl::StatusOr<std::optional<JobStanding>>(
        uint64_t generation)>
        standing;
    // Called once, on the session's thread: nobody will give this daemon work
    // again, so it is to exit. Must not destroy the session.
    std::function<void()> on_orphaned;
  };

  // Registers, trying again until the deadline while the scheduler is away;
  // then says every `heartbeat_interval_ms` (the scheduler's choice) how work
  // goes, on a thread of its own, and registers again with a scheduler that
  // does not know this daemon, giving it the segment of its job. Serve
  // ExecutorService first: the scheduler may call back at once.
  // FailedPrecondition: the scheduler is another version. Unavailable: no
  // scheduler until the deadline.
  static absl::StatusOr<std::unique_ptr<HostSession>> Start(
      const HostSessionOptions& options, Callbacks callbacks,
      Deadline deadline);
  // Stops the thread. The scheduler learns of the end from the kernel.
  ~HostSession();
  HostSession(const HostSession&) = delete;
  HostSession& operator=(const HostSession&) = delete;

  // Of the scheduler that this daemon registered with last.
  uint64_t scheduler_generation() const;

  // Waits until this daemon is registered with a scheduler of `generation` or a
  // later one: that scheduler may call before its answer has been read here.
  // Returns false at the deadline.
  bool WaitForGeneration(uint64_t generation, Deadline deadline) const;

  // The segment of a job that this daemon is being attached to; see
  // shared/rpc/descriptors.h.
  absl::StatusOr<UniqueFd> RequestSegment(const std::string& job_id,
                                          Deadline deadline) const;

  // Memory that the job's trainers share for one evaluation, by its number.
  absl::StatusOr<UniqueFd> RequestScratch(const std::string& job_id,
                                          uint64_t number,
                                          Deadline deadline) const;

  // The job cannot go on here: said at once, and again with every heartbeat
  // until ClearFailure() or another job's failure. The first failure of a job
  // stands: those after it are its consequences.
  void ReportFailure(const std::string& job_id, const absl::Status& failure);
  // When the daemon has left the job.
  void ClearFailure();

 private:
  class Impl;
  explicit HostSession(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_HOST_SESSION_H_
