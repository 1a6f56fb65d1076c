#include <malloc.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <string>

#include "absl/functional/function_ref.h"
#include "shared/base/descriptor_limit.h"
#include "shared/base/exceptions.h"
#include "shared/base/signal_waiter.h"
#include "shared/base/status.h"
#include "shared/command_line/command_line.h"
#include "shared/config/state_dir.h"
#include "shared/telemetry/log.h"
#include "trainer_service/daemon/predict_command.h"
#include "trainer_service/daemon/trainer_daemon.h"
#include "trainer_service/daemon/training_bench.h"
#include "trainer_service/daemon/training_profile.h"
#include "trainer_service/daemon/version_text.h"

namespace {

constexpr int kLeastMappedBytes = 128 << 10;
// Volatile, so that the text stands in the program's file and not in code: a
// fault test changes it there.
const char* const volatile kVersion = FGNN_VERSION;

// A daemon's errors go to its log.
int FailDaemon(const absl::Status& status) {
  fgnn::LogError("{}", fgnn::MessageOf(status));
  return fgnn::ExitCode(status);
}

// `fgnn predict` becomes this program, and `fgnn plan` asks it, so its errors
// look like fgnn's: one plain line.
int FailCommand(const absl::Status& status) {
  std::string message = fgnn::MessageOf(status);
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::cerr << "fgnn: " << message << "\n";
  return fgnn::ExitCode(status);
}

// Prints what `command` returns. An exception fails the command alone, in one
// line.
int Print(absl::FunctionRef<absl::StatusOr<std::string>()> command) {
  absl::StatusOr<std::string> answer;
  const absl::Status status = fgnn::CatchExceptions([&] {
    answer = command();
    return answer.status();
  });
  if (!status.ok()) return FailCommand(status);
  std::cout << *answer << "\n";
  return 0;
}

absl::StatusOr<std::string> Predict(const fgnn::PredictOptions& options,
                                    bool json) {
  FGNN_ASSIGN_OR_RETURN(const auto summary, fgnn::RunPredict(options));
  return json ? summary.ToJson() : summary.ToText();
}

void AddPredictFlags(fgnn::Command app, fgnn::PredictOptions& options) {
  app.AddOption("--run", options.run, "A run's folder");
  app.AddOption("--checkpoint", options.checkpoint, "Instead of its best");
  app.AddOption("--dataset", options.dataset, "A dataset folder").Required();
  app.AddOption("--what", options.what, "classes, probabilities or embeddings");
  app.AddOption("--out", options.out, "FILE.npy or FILE.csv").Required();
  app.AddOption("--device", options.device, "Cores; all if not given");
}

void AddBenchFlags(fgnn::Command app, fgnn::TrainingBenchOptions& options) {
  app.AddOption("--request", options.request,
                "ProfileTrainingRequest as JSON, for its spec")
      .Required();
  app.AddOption("--device", options.device, "Cores").Required();
  app.AddOption("--tasks", options.tasks, "Folder of task-0, task-1, …")
      .Required();
  app.AddOption("--rounds", options.rounds, "Passes over all tasks");
}

int RunDaemon(const fgnn::ExecutorDaemonOptions& options) {
  fgnn::InitLog(options.name);
  fgnn::RaiseDescriptorLimit();
  // Before any thread starts, so that every thread inherits the mask.
  const fgnn::SignalWaiter stop({SIGINT, SIGTERM});
  const absl::Status status = fgnn::CatchExceptions([&] {
    const auto daemon = fgnn::TrainerDaemon::Start(options, &stop);
    return daemon.ok() ? (*daemon)->ServeUntilStopped() : daemon.status();
  });
  return status.ok() ? 0 : FailDaemon(status);
}

}  // namespace

int main(int argc, char** argv) {
  // Left to itself the heap learns to keep blocks of some MiB: then every
  // thread that has evaluated once keeps that evaluation's arrays.
  ::mallopt(M_MMAP_THRESHOLD, kLeastMappedBytes);
  fgnn::ExecutorDaemonOptions options;
  fgnn::PredictOptions predict;
  bool json = false;
  fgnn::TrainingBenchOptions bench_options;
  std::string request;
  std::string device;
  options.version = kVersion;
  fgnn::CommandLine line("FGNN's trainer: a daemon, or one command",
                         "fgnn-trainer");
  line.SetVersion(fgnn::VersionText(options.version));
  const fgnn::Command app = line.root();
  app.AddOption("--name", options.name, "Its name, e.g. trainer.0");
  app.AddOption("--device", options.device, "Its cores, e.g. cpu:0-3");
  app.AddOption("--state-dir", options.state_dir, "The service's folder");
  const fgnn::Command sub = app.AddSubcommand("predict", "Of all vertices");
  AddPredictFlags(sub, predict);
  sub.AddFlag("--json", json, "Print one JSON document");
  const fgnn::Command profile =
      app.AddSubcommand("profile", "A job's needs, as JSON");
  profile.AddOption("--request", request, "ProfileTrainingRequest as JSON")
      .Required();
  profile.AddOption("--device", device, "Cores").Required();
  const fgnn::Command bench =
      app.AddSubcommand("bench", "Seconds of training, as JSON");
  AddBenchFlags(bench, bench_options);
  if (const auto code = line.ParseMain(argc, argv)) return *code;
  if (!app.Chosen().has_value()) return RunDaemon(options);
  fgnn::InitLog("fgnn-trainer");
  predict.plugins = fgnn::PluginFolder(options.state_dir);
  if (profile.IsChosen()) {
    return Print([&] {
      return fgnn::RunProfileCommand(request, device, predict.plugins);
    });
  }
  if (bench.IsChosen()) {
    return Print([&] { return fgnn::RunBenchCommand(bench_options); });
  }
  return Print([&] { return Predict(predict, json); });
}
