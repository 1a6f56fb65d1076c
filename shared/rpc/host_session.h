// A daemon's connection with the scheduler: registration and heartbeats.
// Samplers and trainers use it. The header needs neither gRPC nor protobuf.
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
#include "shared/base/files/unique_fd.h"
#include "shared/base/types.h"

namespace fgnn {

struct HostSessionOptions {
  std::filesystem::path state_dir;
  // "sampler.0"; the daemon's socket is executors/<name>.sock.
  std::string name;
  std::string role;     // "sampler", "trainer" or "exchange".
  std::string device;   // "cpu:0-1"
  std::string version;  // Version of the program.
  uint32_t segment_layout_version = 0;
  std::chrono::milliseconds call_timeout{5'000};
  // Time after which a daemon ends itself if its scheduler is away and it has
  // finished no batch meanwhile.
  std::chrono::milliseconds orphaned_after{60'000};
};

// The state of a daemon's work. The session asks for it before each heartbeat,
// on its own thread. Must not block.
struct WorkReport {
  // Number that rises while all work loops of the job make progress. The
  // scheduler kills a daemon that works while this number does not change for
  // long.
  uint64_t progress = 0;
  uint64_t batches = 0;  // Number of batches finished since the start.
  // Whether the daemon is attached to a job and not about to leave it, or in a
  // watched call.
  bool working = false;
  // Thousandths that are done of an evaluation; nullopt: there is none.
  std::optional<uint32_t> evaluated_permille = std::nullopt;
};

// The job that a daemon is attached to.
struct JobStanding {
  std::string job_id;
  OwnerIndex owner = kNoOwner;
  uint32_t number = 0;  // Number of this executor in the job.
  UniqueFd segment;     // A duplicate of the segment's descriptor.
  // The same of the hot table that trainers share; not valid: there is none.
  UniqueFd table = UniqueFd();
};

// Thread-safe.
class HostSession {
 public:
  struct Callbacks {
    std::function<WorkReport()> report;
    // Called when the scheduler is not the one of `generation` any more, on the
    // session's thread. Must not block. Its answer must stay true until the new
    // scheduler attaches or detaches this daemon: calls of an older one must be
    // refused from now on. nullopt: attached to no job. Unavailable: the daemon
    // is about to be attached, or not yet detached; the session asks again.
    std::function<absl::StatusOr<std::optional<JobStanding>>(
        uint64_t generation)>
        standing;
    // Called once, on the session's thread, when no scheduler will give this
    // daemon work again: the daemon should exit. Must not destroy the session.
    std::function<void()> on_orphaned;
    // Tells whether the daemon is to end. Start() then gives up. Must not
    // block; nullptr: the daemon registers until the deadline.
    std::function<bool()> is_ending = nullptr;
  };

  // Registers, and tries again until the deadline while the scheduler is away.
  // Then a thread sends a heartbeat every `heartbeat_interval_ms` (the
  // scheduler's choice). It registers again with a scheduler that does not know
  // this daemon, and gives it the segment of its job. Serve ExecutorService
  // first: the scheduler may call back at once. FailedPrecondition: the
  // scheduler is another version. Unavailable: no scheduler until the deadline.
  // Cancelled: the daemon is to end.
  static absl::StatusOr<std::unique_ptr<HostSession>> Start(
      const HostSessionOptions& options, Callbacks callbacks,
      Deadline deadline);
  // Stops the thread. The scheduler learns of the end from the kernel.
  ~HostSession();
  HostSession(const HostSession&) = delete;
  HostSession& operator=(const HostSession&) = delete;

  // Generation of the scheduler that this daemon registered with last.
  uint64_t scheduler_generation() const;

  // Waits until this daemon is registered with a scheduler of `generation` or a
  // later one. That scheduler may call before this daemon has read its answer.
  // Returns false at the deadline.
  bool WaitForGeneration(uint64_t generation, Deadline deadline) const;

  // Asks for the segment of a job that this daemon is being attached to; see
  // shared/rpc/sockets/descriptors.h.
  absl::StatusOr<UniqueFd> RequestSegment(const std::string& job_id,
                                          Deadline deadline) const;

  // Asks for the memory of this number, which the job's trainers share.
  absl::StatusOr<UniqueFd> RequestScratch(const std::string& job_id,
                                          uint64_t number,
                                          Deadline deadline) const;

  // Reports that the job cannot go on here. The report is sent at once and with
  // every heartbeat, until ClearFailure() or another job's failure. Only the
  // first failure of a job is kept: those after it are its consequences.
  void ReportFailure(const std::string& job_id, const absl::Status& failure);
  // Called when the daemon has left the job.
  void ClearFailure();

 private:
  class Impl;
  explicit HostSession(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_HOST_SESSION_H_
