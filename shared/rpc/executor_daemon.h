// The common part of samplers, trainers and exchanges: a device, a server, a
// session with the scheduler, one job at a time, an orderly end. The header
// needs neither gRPC nor protobuf.
#ifndef FGNN_SHARED_RPC_EXECUTOR_DAEMON_H_
#define FGNN_SHARED_RPC_EXECUTOR_DAEMON_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/threads/mutex.h"
#include "shared/base/threads/signal_waiter.h"
#include "shared/device/device.h"
#include "shared/metrics/metric_page.h"
#include "shared/queue/segment.h"
#include "shared/rpc/executor_server.h"
#include "shared/rpc/host_session.h"
#include "shared/rpc/job_seat.h"
#include "shared/telemetry/service_manager.h"

namespace fgnn {

struct ExecutorDaemonOptions {
  std::string name;  // "sampler.0"
  // Device on this machine, to whose cores the daemon pins itself; without a
  // name: none was given.
  Device device;
  std::filesystem::path state_dir;  // State folder of the service.
  std::string version;              // Version of the program.
};

// Names a daemon that has a device and no name by the device's first core or
// GPU: "sampler.4" for `kind` "sampler" on "cpu:4-7", "sampler.cuda0" on
// "cuda:0".
void NameByDevice(std::string_view kind, ExecutorDaemonOptions& options);

// Exit code of a daemon that the next start may mend: EX_TEMPFAIL of
// sysexits.h.
inline constexpr int kTryAgainExitCode = 75;

// Returns the exit code of a daemon that ends with `status`. The scheduler
// starts a daemon that ended with 2 before it registered no more. So that is
// ExitCode(), but kTryAgainExitCode for a name or a socket that another process
// still has (AlreadyExists), and for what is not there (NotFound, OutOfRange).
int DaemonExitCode(const absl::Status& status);

// The scheduler's request to start a job.
struct ExecutorJobStart {
  const AttachJobRequest& attachment;
  const JobSpec& spec;  // Effective spec of the job.
  // Asks the scheduler for the job's segment and maps it. Open the dataset and
  // other inputs first.
  absl::FunctionRef<absl::StatusOr<std::unique_ptr<Segment>>()> segment;
  // Tells the scheduler that the job cannot go on here. Any thread may call it
  // until the job is destroyed.
  std::function<void(const absl::Status&)> on_failure;
};

// Starts jobs: the part in which the kinds of daemons differ.
class JobStarter {
 public:
  virtual ~JobStarter() = default;
  // Called on a thread of the server, one call at a time.
  virtual absl::StatusOr<std::unique_ptr<ExecutorJob>> StartJob(
      const ExecutorJobStart& start) = 0;
  // Adds the daemon's own figures. Any thread.
  virtual void AddMetrics(MetricPage& page) const = 0;
};

// Progress of a watched call.
struct CallActivity {
  uint64_t progress = 0;  // Number that must change while the call works.
  // Whether the call does work that takes no longer than a round of a work
  // loop.
  bool working = false;
};

// Registers with the scheduler and carries out its calls. At its end the server
// is shut down first, then the job is left; the session outlives it.
class ExecutorDaemon : private ExecutorHandler {
 public:
  // `kind` is "sampler", "trainer" or "exchange". `starter` and `stop` are
  // borrowed until destruction. The scheduler may ask for an end too.
  ExecutorDaemon(ExecutorDaemonOptions options, std::string kind,
                 JobStarter* starter, const SignalWaiter* stop);
  // Ends in the same way as ServeUntilStopped().
  ~ExecutorDaemon() override;
  ExecutorDaemon(const ExecutorDaemon&) = delete;
  ExecutorDaemon& operator=(const ExecutorDaemon&) = delete;

  // Pins the calling thread, serves ExecutorService and `services` (borrowed
  // until destruction), and registers. Call it in main, before other threads
  // start. Calls may arrive before it has returned. InvalidArgument: a wrong
  // device, or no name or folder. FailedPrecondition: the scheduler is another
  // version. Unavailable: there is no scheduler. Returns OK without having
  // registered if `stop` came before.
  absl::Status Start(const std::vector<grpc::Service*>& services);

  // Waits for `stop`, and until all work in progress has ended.
  absl::Status ServeUntilStopped();

  // Returns the spec of the job that was opened last. Any thread. Unavailable:
  // that is another job; the scheduler opens this one and calls again.
  absl::StatusOr<std::shared_ptr<const JobSpec>> SpecOf(
      const std::string& job_id) const;

  // Calls `use` with the job, which stays attached until `use` has returned.
  // Returns the error of `use`. Any thread. FailedPrecondition: the daemon is
  // not attached to the job. Unavailable: it left the job to end.
  absl::Status WithJob(const std::string& job_id,
                       absl::FunctionRef<absl::Status(ExecutorJob&)> use);

  // Makes the scheduler watch a call as it watches work loops, for this
  // object's life. `look` is called on another thread, also while the call
  // runs.
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

  // Returns `wanted`, which a job asks for, or one per core of the device if it
  // is 0. Call it after Start() has begun to serve.
  uint32_t NumThreads(uint32_t wanted) const {
    return wanted > 0 ? wanted
                      : static_cast<uint32_t>(options_.device.cores.size());
  }

 private:
  // ExecutorHandler. Open(), Attach() and Detach() are called one at a time.
  void Open(OpenJobRequest request) override;
  absl::Status Attach(const AttachJobRequest& attachment) override;
  absl::Status Detach(const std::string& job_id) override;
  std::string MetricsText() override;
  void RequestStop() override { stop_->RequestStop(); }

  absl::StatusOr<HostSession*> Session();
  void LeaveJob();
  WorkReport Report();
  // Returns true if all work loops have made progress since the call before, or
  // none has work. For the thread of ServeUntilStopped().
  bool HasProgress();
  void ShutDown();

  const ExecutorDaemonOptions options_;
  const std::string kind_;
  JobStarter* const starter_;
  const SignalWaiter* const stop_;
  ServiceManager manager_;
  uint64_t progress_seen_ = 0;  // Progress at the last call of HasProgress().

  JobSeat seat_;

  mutable Mutex mutex_;
  // The job that was opened last; nullptr: none.
  std::shared_ptr<const OpenJobRequest> open_ ABSL_GUARDED_BY(mutex_);
  CondVar registered_;  // Signals that session_ is there.
  std::unique_ptr<HostSession> session_ ABSL_GUARDED_BY(mutex_);
  std::set<const WatchedCall*> watched_calls_ ABSL_GUARDED_BY(mutex_);
  // Progress of watched calls that have ended.
  uint64_t progress_of_calls_ ABSL_GUARDED_BY(mutex_) = 0;

  // Last member: it calls the members above.
  std::unique_ptr<ExecutorServer> server_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_EXECUTOR_DAEMON_H_
