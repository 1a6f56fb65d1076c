// The commands of fgnn-trainer and their flags, for a process that is not the
// daemon.
#ifndef FGNN_TRAINER_SERVICE_COMMANDS_TRAINER_COMMANDS_H_
#define FGNN_TRAINER_SERVICE_COMMANDS_TRAINER_COMMANDS_H_

#include <filesystem>
#include <functional>
#include <string>

#include "shared/command_line/command_line.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/commands/bench_command.h"
#include "trainer_service/commands/predict_command.h"
#include "trainer_service/commands/profile_command.h"

namespace fgnn {

// What the program passes to its commands.
struct CommandTools {
  std::filesystem::path plugins;  // The folder of the user's libraries.
  BackendFactory open;
  ThreadedProfiler profile;
  InferenceDeviceOpener open_inference;
  // Opens cuBLAS, and returns "cuBLAS 13.1.0".
  std::function<absl::StatusOr<std::string>()> name_cublas;
  // Opens NCCL, and returns "NCCL 2.28.9".
  std::function<absl::StatusOr<std::string>()> name_nccl;
};

// `fgnn predict` executes this program, and `fgnn plan` starts it. So its
// errors look like the errors of fgnn: one plain line each.
class TrainerCommands {
 public:
  // Adds predict, profile, bench, libtorch, cublas and nccl to the commands.
  // This object outlives `app`.
  explicit TrainerCommands(Command app);
  TrainerCommands(const TrainerCommands&) = delete;
  TrainerCommands& operator=(const TrainerCommands&) = delete;

  // Runs the command that the user named, which is one of these, and prints its
  // result. Returns the exit code.
  int Run(const CommandTools& tools);

 private:
  absl::StatusOr<std::string> Answer(const CommandTools& tools);

  PredictOptions predict_options_;
  bool json_ = false;
  std::string request_;
  std::string device_;
  TrainingBenchOptions bench_options_;
  const Command predict_;
  const Command profile_;
  const Command bench_;
  const Command libtorch_;
  const Command cublas_;
  const Command nccl_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMMANDS_TRAINER_COMMANDS_H_
