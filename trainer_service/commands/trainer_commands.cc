#include "trainer_service/commands/trainer_commands.h"

#include <iostream>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/error_json.h"
#include "shared/base/standard_output.h"
#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"
#include "trainer_service/commands/version_text.h"
#include "trainer_service/nn/torch/torch_library.h"

namespace fgnn {

TrainerCommands::TrainerCommands(Command app)
    : predict_(app.AddSubcommand("predict", "Predictions of a model")),
      profile_(app.AddSubcommand("profile", "A job's needs, as JSON")),
      bench_(app.AddSubcommand("bench", "Seconds of training, as JSON")),
      libtorch_(app.AddSubcommand("libtorch", "Load it, and say its release")),
      cublas_(app.AddSubcommand("cublas", "Load it, and say its version")),
      nccl_(app.AddSubcommand("nccl", "Load it, and say its version")) {
  PredictOptions& predict = predict_options_;
  predict_.AddOption("--run", predict.run, "A run's folder");
  predict_.AddOption("--checkpoint", predict.checkpoint,
                     "Checkpoint file; default: the best");
  predict_.AddOption("--dataset", predict.dataset, "A dataset folder")
      .Required();
  predict_.AddOption(
      "--what", predict.what,
      "classes, values, probabilities, embeddings, scores or neighbours");
  predict_.AddOption("--out", predict.out, "FILE.npy or FILE.csv").Required();
  predict_.AddOption("--top-k", predict.top_k,
                     "Number of best classes or neighbours");
  predict_.AddOption("--vertices", predict.vertices, "A file with ids");
  predict_.AddOption("--pairs", predict.pairs, "A file with pairs of ids");
  predict_.AddOption("--device", predict.device,
                     "Cores or a GPU; default: all cores");
  predict_.AddFlag("--json", json_, "Print one JSON document");

  profile_.AddOption("--request", request_, "ProfileTrainingCommand as JSON")
      .Required();
  profile_.AddOption("--device", device_, "Cores, or a GPU").Required();

  TrainingBenchOptions& bench = bench_options_;
  bench_
      .AddOption("--request", bench.request,
                 "ProfileTrainingCommand as JSON, for its spec")
      .Required();
  bench_.AddOption("--device", bench.device, "Cores").Required();
  bench_.AddOption("--tasks", bench.tasks, "Folder of task-0, task-1, …")
      .Required();
  bench_.AddOption("--rounds", bench.rounds, "Passes over all tasks");
}

absl::StatusOr<std::string> TrainerCommands::Answer(const CommandTools& tools) {
  if (profile_.IsChosen()) {
    return RunProfileCommand(request_, device_, tools.profile);
  }
  if (bench_.IsChosen()) return RunBenchCommand(bench_options_, tools.open);
  if (libtorch_.IsChosen()) {
    FGNN_RETURN_IF_ERROR(OpenTorchLibrary().status());
    return TorchText();
  }
  if (cublas_.IsChosen()) return tools.name_cublas();
  if (nccl_.IsChosen()) return tools.name_nccl();
  predict_options_.plugins = tools.plugins;
  predict_options_.open_device = tools.open_inference;
  FGNN_ASSIGN_OR_RETURN(const PredictSummary summary,
                        RunPredict(predict_options_));
  if (json_) return summary.ToJson();
  if (!summary.notice.empty()) {
    std::cerr << "fgnn: notice: " << summary.notice << "\n";
  }
  return summary.ToText();
}

int TrainerCommands::Run(const CommandTools& tools) {
  absl::StatusOr<std::string> answer;
  const absl::Status status = CatchExceptions([&] {
    answer = Answer(tools);
    return answer.status();
  });
  absl::Status ended = status;
  if (status.ok()) {
    std::cout << *answer << "\n";
    ended = FlushStandardOutput();
  }
  if (ended.ok()) return 0;
  std::cerr << "fgnn: " << MessageOf(InOneLine(ended)) << std::endl;
  const bool answers_json = json_ || profile_.IsChosen() || bench_.IsChosen();
  if (answers_json) {
    std::cout << ErrorJson(ended, ExitCode(ended)) << std::endl;
  }
  return ExitCode(ended);
}

}  // namespace fgnn
