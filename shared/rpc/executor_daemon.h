// What sampler and trainer daemons have in common: a device, a server, a
// session with the scheduler, one job at a time, an orderly end. Shows neither
// gRPC nor protobuf.
#ifndef FGNN_SHARED_RPC_EXECUTOR_DAEMON_H_
#define FGNN_SHARED_RPC_EXECUTOR_DAEMON_H_

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/signal_waiter.h"
#include "shared/device/device.h"
#include "shared/queue/segment.h"
#include "shared/rpc/executor_server.h"
#include "shared/rpc/host_session.h"

namespace fgnn {

struct ExecutorDaemonOptions {
  std::string name;                 // "sampler.0"
  std::string device;               // "cpu:0-3": the cores it pins itself to.
  std::filesystem::path state_dir;  // Of the service.
  std::string version;              // Of the program.
};

// A job while a daemon takes part in it. Thread-safe.
class ExecutorJob {
 public:
  // Stop(), then waits for the work loops and unmaps the segment.
  virtual ~ExecutorJob() = default;
  // Ends the work loops, and calls that use the job, soon.
  virtual void Stop() = 0;
  // Rises while every loop turns, at most by one from one call to the next.
  virtual uint64_t turns() const = 0;
  // Finished for the job so far.
  virtual uint64_t batches() const = 0;
};

// How a job is started for the scheduler.
struct ExecutorJobStart {
  const JobAttachment& attachment;
  // Asks the scheduler for the job's segment and maps it. What the job works
  // on is best opened before.
  absl::FunctionRef<absl::StatusOr<std::unique_ptr<Segment>>()> segment;
  // Tells the scheduler that the job cannot go on here. Any thread, until the
  // job is destroyed.
  std::function<void(const absl::Status&)> on_failure;
};

// What one service adds: its way to work on a job.
class JobStarter {
 public:
  virtual ~JobStarter() = default;
  // Called on a thread of the server, one call at a time.
  virtual absl::StatusOr<std::unique_ptr<ExecutorJob>> StartJob(
      const ExecutorJobStart& start) = 0;
};

// How a watched call comes along.
struct CallActivity {
  uint64_t turns = 0;    // Has to change while the call works.
  bool working = false;  // In what may take no longer than a work loop's turn.
};

// Registers with the scheduler and does what it asks for. Members in order of
// dependency: the session outlives the job, the server is shut down first.
class ExecutorDaemon : private ExecutorHandler {
 public:
  // `kind` is "sampler" or "trainer". `starter` and `stop` are borrowed until
  // destruction; the scheduler may ask for an end too.
  ExecutorDaemon(ExecutorDaemonOptions options, std::string kind,
                 JobStarter* starter, const SignalWaiter* stop);
  // As ServeUntilStopped() ends.
  ~ExecutorDaemon() override;
  ExecutorDaemon(const ExecutorDaemon&) = delete;
  ExecutorDaemon& operator=(const ExecutorDaemon&) = delete;

  // Pins the calling thread (call it in main, before other threads start),
  // serves ExecutorService and `services` (borrowed until destruction),
  // registers. Calls may come before it has returned. InvalidArgument: the
  // device, or no name or folder; FailedPrecondition: the scheduler is another
  // version; Unavailable: there is none.
  absl::Status Start(const std::vector<grpc::Service*>& services);

  // Returns once `stop` says so and everything that was under way has ended.
  absl::Status ServeUntilStopped();

  // Calls `use` with the job, which stays attached until it has returned. Any
  // thread. FailedPrecondition: not attached to it; else what `use` says.
  absl::Status WithJob(const std::string& job_id,
                       absl::FunctionRef<absl::Status(ExecutorJob&)> use);

  // Has the scheduler watch a call as it watches work loops, for this object's
  // life. `look` is called on another thread, also while the call runs.
  class WatchedCall {
   public:
    WatchedCall(ExecutorDaemon* daemon, std::function<CallActivity()> look);
    ~WatchedCall();
    WatchedCall(const WatchedCall&) = delete;
    WatchedCall& operator=(const WatchedCall&) = delete;

   private:
    friend class ExecutorDaemon;
    ExecutorDaemon* const daemon_;
    const std::function<CallActivity()> look_;
  };

  // See HostSession.
  absl::StatusOr<UniqueFd> RequestScratch(const std::string& job_id,
                                          uint64_t number);

  const std::string& name() const { return options_.name; }

  // `wanted` by a job, or one per core of the device where that is 0. After
  // Start() has begun to serve.
  uint32_t NumThreads(uint32_t wanted) const {
    return wanted > 0 ? wanted : static_cast<uint32_t>(device_.cores.size());
  }

 private:
  // ExecutorHandler: one of the first two at a time.
  absl::Status Attach(const JobAttachment& attachment) override;
  absl::Status Detach(const std::string& job_id) override;
  void RequestStop() override { stop_->RequestStop(); }

  std::string CurrentJobId();
  absl::StatusOr<HostSession*> Session();
  void LeaveJob();
  WorkReport Report();
  absl::StatusOr<std::optional<JobStanding>> Standing(uint64_t generation);
  void ShutDown();

  const ExecutorDaemonOptions options_;
  const std::string kind_;
  JobStarter* const starter_;
  const SignalWaiter* const stop_;
  Device device_;  // Set before the server starts.

  std::mutex mutex_;
  std::condition_variable changed_;  // session_ is there, or no user is left.
  // Guarded by mutex_.
  std::unique_ptr<HostSession> session_;
  std::unique_ptr<ExecutorJob> job_;
  std::string job_id_;  // Empty: no job.
  OwnerIndex owner_ = kNoOwner;
  uint32_t number_ = 0;  // In the job.
  UniqueFd segment_;     // Of the job, for a scheduler that comes back.
  bool attaching_ = false;
  bool leaving_ = false;
  uint64_t least_generation_ = 0;  // Of a scheduler that may attach this.
  int num_users_ = 0;              // Of job_, in WithJob().
  std::set<const WatchedCall*> watched_calls_;
  uint64_t turns_before_ = 0;  // Of jobs and watched calls that have ended.
  uint64_t batches_before_ = 0;

  std::unique_ptr<ExecutorServer> server_;  // Last: it calls the above.
};

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_EXECUTOR_DAEMON_H_
