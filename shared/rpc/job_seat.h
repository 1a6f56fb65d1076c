// The job that a daemon takes part in, one at a time.
//
//   free ──Reserve──▶ reserved ──Take──▶ taken ──BeginToLeave──▶ being left
//    ▲                   │                                          │
//    └──────Free─────────┴──────────────────Free────────────────────┘
#ifndef FGNN_SHARED_RPC_JOB_SEAT_H_
#define FGNN_SHARED_RPC_JOB_SEAT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/threads/mutex.h"
#include "shared/rpc/executor_server.h"
#include "shared/rpc/host_session.h"

namespace fgnn {

// A job that a daemon takes part in. Thread-safe.
class ExecutorJob {
 public:
  // Calls Stop(), waits for the work loops and unmaps the segment.
  virtual ~ExecutorJob() = default;
  // Makes the work loops, and calls that use the job, end soon.
  virtual void Stop() = 0;
  // Returns a number that rises while every loop makes progress, by at most one
  // from one call to the next.
  virtual uint64_t progress() const = 0;
  // Number of batches finished for the job so far.
  virtual uint64_t batches() const = 0;
  // Returns the thousandths that are done of the evaluation that works for the
  // job; nullopt: there is none.
  virtual std::optional<uint32_t> evaluated_permille() const {
    return std::nullopt;
  }
  // Returns a descriptor of the hot table that the job's trainers share; not
  // valid: there is none.
  virtual UniqueFd SharedTable() const { return UniqueFd(); }
};

// Reserve(), Take(), BeginToLeave() and Free(): one call at a time. The other
// functions: any thread.
class JobSeat {
 public:
  // `daemon`: its name, for errors.
  explicit JobSeat(std::string daemon) : daemon_(std::move(daemon)) {}

  // Reserves the seat for a job. Returns false if it has taken this job of this
  // scheduler already. FailedPrecondition: it has another one, or a later
  // scheduler has spoken.
  absl::StatusOr<bool> Reserve(const AttachJobRequest& attachment);
  // Gives the reserved seat its job, and the segment's descriptor.
  void Take(const AttachJobRequest& attachment,
            std::unique_ptr<ExecutorJob> job, UniqueFd segment);
  // Stops the job, waits until no call uses it and returns it; null: there is
  // none. The caller destroys the job, then calls Free().
  std::unique_ptr<ExecutorJob> BeginToLeave();
  // Frees the seat unless it is taken.
  void Free();

  bool IsOf(const std::string& job_id) const;
  // Stops the job, if there is one.
  void Stop();
  // Calls `use` with the job, which stays here until `use` has returned.
  // Returns the result of `use`; nullopt: the job is not here.
  std::optional<absl::Status> Use(
      const std::string& job_id,
      absl::FunctionRef<absl::Status(ExecutorJob&)> use);
  // See HostSession::Callbacks.
  absl::StatusOr<std::optional<JobStanding>> Standing(uint64_t generation);
  // Returns the progress of this job and of all before it. A job works until
  // the daemon begins to leave it.
  WorkReport Report() const;

 private:
  const std::string daemon_;

  mutable Mutex mutex_;
  CondVar unused_;  // Signals that no user is left.
  std::unique_ptr<ExecutorJob> job_ ABSL_GUARDED_BY(mutex_);
  // The call that attached the job, until the seat is free; its job id is empty
  // otherwise.
  AttachJobRequest attachment_ ABSL_GUARDED_BY(mutex_);
  // Segment of the job, for a scheduler that comes back.
  UniqueFd segment_ ABSL_GUARDED_BY(mutex_);
  bool reserved_ ABSL_GUARDED_BY(mutex_) = false;
  bool leaving_ ABSL_GUARDED_BY(mutex_) = false;
  // Least generation of a scheduler that may attach this daemon.
  uint64_t least_generation_ ABSL_GUARDED_BY(mutex_) = 0;
  // Number of calls of Use() that use job_.
  int num_users_ ABSL_GUARDED_BY(mutex_) = 0;
  // Progress of the jobs that were left.
  WorkReport before_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_JOB_SEAT_H_
