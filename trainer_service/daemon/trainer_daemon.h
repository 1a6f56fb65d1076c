// fgnn-trainer: registers with the scheduler, attaches to jobs, trains.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_TRAINER_DAEMON_H_
#define FGNN_TRAINER_SERVICE_DAEMON_TRAINER_DAEMON_H_

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/signal_waiter.h"

namespace fgnn {

struct TrainerDaemonOptions {
  std::string name;                 // "trainer.0"
  std::string device;               // "cpu:0-3": the cores it pins itself to.
  std::filesystem::path state_dir;  // Of the service.
  std::string version;              // Of the program.
};

// Only composes; see the members of Impl for what.
class TrainerDaemon {
 public:
  // Pins the calling thread (call it in main, before other threads start),
  // serves, registers. `stop` is borrowed until destruction: the scheduler may
  // ask for an end too. InvalidArgument: the device; FailedPrecondition: the
  // scheduler is another version; Unavailable: there is none.
  static absl::StatusOr<std::unique_ptr<TrainerDaemon>> Start(
      const TrainerDaemonOptions& options, const SignalWaiter* stop);
  ~TrainerDaemon();
  TrainerDaemon(const TrainerDaemon&) = delete;
  TrainerDaemon& operator=(const TrainerDaemon&) = delete;

  // Returns once `stop` says so and everything that was under way has ended.
  absl::Status ServeUntilStopped();

 private:
  class Impl;
  explicit TrainerDaemon(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_TRAINER_DAEMON_H_
