// fgnn-sampler: registers with the scheduler, attaches to jobs, samples.
#ifndef FGNN_SAMPLER_SERVICE_DAEMON_SAMPLER_DAEMON_H_
#define FGNN_SAMPLER_SERVICE_DAEMON_SAMPLER_DAEMON_H_

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/signal_waiter.h"

namespace fgnn {

struct SamplerDaemonOptions {
  std::string name;                 // "sampler.0"
  std::string device;               // "cpu:0-3": the cores it pins itself to.
  std::filesystem::path state_dir;  // Of the service.
  std::string version;              // Of the program.
};

// Only composes; see the members of Impl for what.
class SamplerDaemon {
 public:
  // Pins the calling thread (call it in main, before other threads start),
  // serves, registers. `stop` is borrowed until destruction: the scheduler may
  // ask for an end too. InvalidArgument: the device; FailedPrecondition: the
  // scheduler is another version; Unavailable: there is none.
  static absl::StatusOr<std::unique_ptr<SamplerDaemon>> Start(
      const SamplerDaemonOptions& options, const SignalWaiter* stop);
  ~SamplerDaemon();
  SamplerDaemon(const SamplerDaemon&) = delete;
  SamplerDaemon& operator=(const SamplerDaemon&) = delete;

  // Returns once `stop` says so and everything that was under way has ended.
  absl::Status ServeUntilStopped();

 private:
  class Impl;
  explicit SamplerDaemon(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_DAEMON_SAMPLER_DAEMON_H_
