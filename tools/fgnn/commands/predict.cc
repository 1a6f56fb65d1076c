// predict: full-neighbour inference, by the program that links torch.
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "tools/fgnn/commands/commands.h"
#include "tools/fgnn/history/run_folder.h"
#include "tools/fgnn/service/program.h"

namespace fgnn {
namespace {

struct PredictFlags {
  std::string run;
  std::string dataset;
  std::string what;
  std::string out;
  std::string checkpoint;
  std::optional<uint32_t> top_k;
  std::string vertices;
  std::string pairs;
  std::string device;
  bool force = false;
};

absl::Status Predict(const PredictFlags& flags, const CommandContext& context) {
  std::error_code error;
  if (!flags.force && std::filesystem::is_regular_file(flags.out, error)) {
    return absl::AlreadyExistsError(
        absl::StrCat(flags.out, " is there already; --force overwrites it"));
  }
  FGNN_ASSIGN_OR_RETURN(const std::filesystem::path run,
                        FindRunFolder(flags.run, context.place.state_dir));
  FGNN_ASSIGN_OR_RETURN(const std::filesystem::path trainer,
                        FindProgram("fgnn-trainer"));
  std::vector<std::string> args = {
      "--state-dir", context.place.state_dir.string(),
      "predict",     "--run",
      run.string(),  "--dataset",
      flags.dataset, "--out",
      flags.out};
  const std::string top_k =
      flags.top_k.has_value() ? std::to_string(*flags.top_k) : "";
  for (const auto& [flag, value] : {std::pair("--what", &flags.what),
                                    {"--checkpoint", &flags.checkpoint},
                                    {"--top-k", &top_k},
                                    {"--vertices", &flags.vertices},
                                    {"--pairs", &flags.pairs},
                                    {"--device", &flags.device}}) {
    if (!value->empty()) args.insert(args.end(), {flag, *value});
  }
  if (context.json) args.push_back("--json");
  std::cout.flush();
  return ReplaceByProgram(trainer, args);
}

// Adds the flags that choose what is predicted of the dataset.
void AddChoices(Command predict, PredictFlags& flags) {
  predict
      .AddOption("--top-k", flags.top_k,
                 "Write the K best classes or neighbours of each vertex; "
                 "default: 1 class, 10 neighbours")
      .Takes("K");
  predict
      .AddOption("--vertices", flags.vertices,
                 "Predict these vertices alone, in this order: text with an id "
                 "on each line (of a --bipartite dataset userId:5, or 5 if one "
                 "kind alone has it), or .npy of integers")
      .Takes("FILE");
  predict
      .AddOption("--pairs", flags.pairs,
                 "With --what scores: text with two ids on each line, or .npy "
                 "of integers, [pairs, 2]")
      .Takes("FILE");
}

}  // namespace

void AddPredictCommand(Command app, CommandContext& context) {
  const Command predict =
      app.AddSubcommand("predict",
                        "Classes, numbers, probabilities or embeddings of a "
                        "dataset's vertices, or links between them, by a "
                        "trained model");
  context.places["predict"] = CommandPlace::kThisMachine;
  PredictFlags& flags = OnRun(predict, context, &Predict);
  predict.AddOption("RUN", flags.run, "Run folder, or job id")
      .Required()
      .Takes("RUN");
  predict.AddOption("--dataset", flags.dataset, "Dataset folder")
      .Required()
      .Takes("DIR");
  predict
      .AddOption("--what", flags.what,
                 "classes; values, of node_regression; probabilities, f32 "
                 "[vertices, classes]; embeddings, what the last layer is "
                 "given, f32 [vertices, hidden]; for link prediction: scores "
                 "of --pairs, or neighbours, the others that score highest. "
                 "Default: values of node_regression, else classes")
      .OneOf({"classes", "values", "probabilities", "embeddings", "scores",
              "neighbours"});
  predict
      .AddOption(
          "--out", flags.out,
          "File to write: .npy, or for classes, values, scores and neighbours "
          ".csv with the names of vertices, classes and values; an apostrophe "
          "stands before names that a spreadsheet would run")
      .Required()
      .Takes("FILE");
  predict
      .AddOption("--checkpoint", flags.checkpoint,
                 "Checkpoint file; default: that of the best epoch")
      .Takes("FILE");
  AddChoices(predict, flags);
  predict
      .AddOption("--device", flags.device,
                 "Cores (cpu:0-7) or a GPU (cuda:0) that compute; default: all "
                 "cores")
      .Takes("DEVICE");
  predict.AddFlag("--force", flags.force, "Overwrite the file of --out");
}

}  // namespace fgnn
