// fgnn-sampler: attaches to jobs and samples; profiles sampling.
#ifndef FGNN_SAMPLER_SERVICE_DAEMON_SAMPLER_DAEMON_H_
#define FGNN_SAMPLER_SERVICE_DAEMON_SAMPLER_DAEMON_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sampler_service/daemon/sampling_totals.h"
#include "sampler_service/job/job_sampling.h"
#include "sampler_service/rpc/sampler_calls.h"
#include "sampler_service/sampling/device_samplers.h"
#include "shared/base/threads/signal_waiter.h"
#include "shared/rpc/executor_daemon.h"

namespace fgnn {

// Connects the parts of the daemon and holds no logic of its own.
class SamplerDaemon : private JobStarter, private SamplerCalls {
 public:
  // Opens the device with `open`, and registers; see ExecutorDaemon::Start().
  // `stop` is borrowed until destruction. Errors: those of both.
  static absl::StatusOr<std::unique_ptr<SamplerDaemon>> Start(
      const ExecutorDaemonOptions& options, const DeviceOpener& open,
      const SignalWaiter* stop);
  SamplerDaemon(const SamplerDaemon&) = delete;
  SamplerDaemon& operator=(const SamplerDaemon&) = delete;

  // Returns once a stop was requested and all work under way has ended.
  absl::Status ServeUntilStopped() { return executor_.ServeUntilStopped(); }

 private:
  SamplerDaemon(const ExecutorDaemonOptions& options,
                std::unique_ptr<DeviceSamplers> device,
                const SignalWaiter* stop);

  absl::StatusOr<std::unique_ptr<ExecutorJob>> StartJob(
      const ExecutorJobStart& start) override;
  void AddMetrics(MetricPage& page) const override;
  // SamplerCalls. Any number of calls at a time.
  absl::StatusOr<SamplingProfile> ProfileSampling(
      const ProfileSamplingRequest& request, const CallLimits& limits) override;
  absl::StatusOr<ValidatedDataset> ValidateDataset(
      const std::string& job_id, const CallLimits& limits) override;
  absl::Status CountInputNodes(const CountInputNodesRequest& request,
                               const CallLimits& limits) override;
  absl::Status WriteCounts(const std::string& job_id,
                           const std::filesystem::path& path) override;
  absl::StatusOr<RankedVertices> RankVertices(
      const RankVerticesRequest& request, const CallLimits& limits) override;

  absl::StatusOr<JobSampling> OpenSampling(const JobSpec& spec,
                                           uint64_t job_key = 0,
                                           SeedShares seeds = {});
  // Ends this process if it cannot use its device any more.
  void EndIfDeviceIsBroken();
  // Returns the result of work on the device. If the device broke in it, ends
  // this process, so that the scheduler asks another one.
  template <typename Result>
  Result UnlessDeviceBroke(Result result) {
    if (!result.ok()) EndIfDeviceIsBroken();
    return result;
  }
  // Returns the number of threads that sample for a job.
  uint32_t NumSamplers(const JobSpec& spec) const;
  // Watches the job's plugin, if there is one, during a call that samples. The
  // caller holds the result as long as the call runs. `job` outlives the
  // result.
  ExecutorDaemon::WatchedCall WatchPlugin(const JobSampling& job);
  // Returns a check of the limits that also fails while this daemon is being
  // stopped.
  std::function<absl::Status()> CheckOf(const CallLimits& limits) const;

  const SignalWaiter* const stop_;
  const std::filesystem::path state_dir_;  // The service's folder.
  const std::filesystem::path plugins_;    // Plugins of the state folder.
  const std::unique_ptr<DeviceSamplers> device_;
  SamplingTotals totals_;
  const std::shared_ptr<grpc::Service> service_ = MakeSamplerService(this);
  ExecutorDaemon executor_;  // Last: it calls the functions above.
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_DAEMON_SAMPLER_DAEMON_H_
