// What fgnn-trainer does when it is no daemon: its commands, by their flags.
#ifndef FGNN_TRAINER_SERVICE_COMMANDS_TRAINER_COMMANDS_H_
#define FGNN_TRAINER_SERVICE_COMMANDS_TRAINER_COMMANDS_H_

#include <filesystem>
#include <string>

#include "shared/command_line/command_line.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/commands/bench_command.h"
#include "trainer_service/commands/predict_command.h"
#include "trainer_service/commands/profile_command.h"

namespace fgnn {

// What the program gives its commands.
struct CommandTools {
  std::filesystem::path plugins;  // The folder of the user's libraries.
  BackendFactory open;
  ThreadedProfiler profile;
};

// `fgnn predict` becomes this program, and `fgnn plan` asks it: its errors look
// like fgnn's, one plain line each.
class TrainerCommands {
 public:
  // Adds predict, profile and bench to the program's words. This outlives them.
  explicit TrainerCommands(Command app);
  TrainerCommands(const TrainerCommands&) = delete;
  TrainerCommands& operator=(const TrainerCommands&) = delete;

  // Runs the command that was named, one of these, and prints what it returns.
  // Returns the exit code.
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
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMMANDS_TRAINER_COMMANDS_H_
