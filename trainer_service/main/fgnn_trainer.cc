#include <malloc.h>

#include <CLI/CLI.hpp>
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
#include "shared/config/state_dir.h"
#include "shared/telemetry/log.h"
#include "trainer_service/daemon/predict_command.h"
#include "trainer_service/daemon/trainer_daemon.h"
#include "trainer_service/daemon/training_bench.h"
#include "trainer_service/daemon/training_profile.h"
#include "trainer_service/daemon/version_text.h"

namespace {

constexpr int kLeastMappedBytes = 128 << 10;

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

void AddPredictFlags(CLI::App& app, fgnn::PredictOptions& options) {
  app.add_option("--run", options.run, "A run's folder");
  app.add_option("--checkpoint", options.checkpoint, "Instead of its best");
  app.add_option("--dataset", options.dataset, "A dataset folder")->required();
  app.add_option("--what", options.what,
                 "classes, probabilities or embeddings");
  app.add_option("--out", options.out, "FILE.npy or FILE.csv")->required();
  app.add_option("--device", options.device, "Cores; all if not given");
}

void AddBenchFlags(CLI::App& app, fgnn::TrainingBenchOptions& options) {
  app.add_option("--request", options.request,
                 "ProfileTrainingRequest as JSON, for its spec")
      ->required();
  app.add_option("--device", options.device, "Cores")->required();
  app.add_option("--tasks", options.tasks, "Folder of task-0, task-1, …")
      ->required();
  app.add_option("--rounds", options.rounds, "Passes over all tasks");
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
  options.version = FGNN_VERSION;
  CLI::App app("FGNN's trainer: a daemon, or one command", "fgnn-trainer");
  app.set_version_flag("--version", fgnn::VersionText(FGNN_VERSION));
  app.add_option("--name", options.name, "Its name, e.g. trainer.0");
  app.add_option("--device", options.device, "Its cores, e.g. cpu:0-3");
  app.add_option("--state-dir", options.state_dir, "The service's folder");
  CLI::App* sub = app.add_subcommand("predict", "Of all vertices");
  AddPredictFlags(*sub, predict);
  sub->add_flag("--json", json, "Print one JSON document");
  CLI::App* profile = app.add_subcommand("profile", "A job's needs, as JSON");
  profile->add_option("--request", request, "ProfileTrainingRequest as JSON")
      ->required();
  profile->add_option("--device", device, "Cores")->required();
  CLI::App* bench = app.add_subcommand("bench", "Seconds of training, as JSON");
  AddBenchFlags(*bench, bench_options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (app.get_subcommands().empty()) return RunDaemon(options);
  fgnn::InitLog("fgnn-trainer");
  predict.plugins = fgnn::PluginFolder(options.state_dir);
  if (profile->parsed()) {
    return Print([&] {
      return fgnn::RunProfileCommand(request, device, predict.plugins);
    });
  }
  if (bench->parsed()) {
    return Print([&] { return fgnn::RunBenchCommand(bench_options); });
  }
  return Print([&] { return Predict(predict, json); });
}
