#include "tools/fgnn/dataset/generate_cli.h"

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "shared/base/clock.h"
#include "shared/base/json_text.h"
#include "shared/base/units.h"
#include "tools/dataset/building/dataset_writer.h"
#include "tools/dataset/building/interrupt_cleanup.h"
#include "tools/dataset/building/progress.h"
#include "tools/dataset/generating/generate.h"

namespace fgnn {
namespace {

void AddCommonOptions(Command app, GenerateOptions& options) {
  app.AddOption("--out", options.out, "The folder to make")
      .Required()
      .Takes("DIR");
  app.AddOption("--features", options.feature_columns,
                "Columns of features; 0 for none")
      .ShowDefault();
  app.AddOption(
         "--feature-type",
         [&options](const std::string& name) {
           options.feature_type = FeatureTypeOf(name).value();
         },
         "Type of features: f32 (default), f16 or bf16")
      .OneOf({"f32", "f16", "bf16"});
  app.AddOption("--feature-noise", options.feature_noise,
                "Noise of the features, in lengths of a class's centroid")
      .ShowDefault();
  app.AddOption("--classes", options.num_classes,
                "Classes of the labels; 0 for none")
      .ShowDefault();
  app.AddOption("--train-fraction", options.train_fraction,
                "Share of the vertices for training; half of the rest is for "
                "validation, half for test")
      .ShowDefault();
  app.AddOption("--seed", options.seed, "Seed of every random choice")
      .ShowDefault();
  app.AddOption("--threads", options.threads,
                "Number of threads; 0: as many as cores")
      .ShowDefault();
}

void PrintSummary(const GenerateOptions& options,
                  const GenerateSummary& summary, double seconds, bool json) {
  if (!json) {
    absl::PrintF(
        "made %s: %s vertices, %s edges, train %s, valid %s, test %s, in %s\n",
        options.out.string(), FormatCount(summary.num_nodes),
        FormatCount(summary.edges.num_edges), FormatCount(summary.num_train),
        FormatCount(summary.num_valid), FormatCount(summary.num_test),
        FormatSeconds(seconds));
    return;
  }
  const nlohmann::ordered_json document = {
      {"dataset", options.out.string()},
      {"num_nodes", summary.num_nodes},
      {"num_edges", summary.edges.num_edges},
      {"num_duplicates", summary.edges.num_merged},
      {"num_self_loops", summary.edges.num_self_loops},
      {"feature_columns", options.feature_columns},
      {"feature_type", std::string(NameOf(options.feature_type))},
      {"num_classes", options.num_classes},
      {"splits",
       {{"train", summary.num_train},
        {"valid", summary.num_valid},
        {"test", summary.num_test}}},
      {"seed", options.seed},
      {"seconds", seconds}};
  absl::PrintF("%s\n", JsonText(document, 2));
}

// Runs `generate` with a progress printer in the options.
template <typename Options>
absl::Status RunGenerator(
    absl::StatusOr<GenerateSummary>(generate)(const Options&), Options options,
    bool json) {
  const Stopwatch watch;
  ProgressPrinter printer(stderr);
  options.common.progress = [&printer](std::string_view stage, uint64_t done,
                                       uint64_t total) {
    printer.Show(stage, done, total);
  };
  const absl::StatusOr<GenerateSummary> summary = [&] {
    InterruptCleanup interrupt;
    options.common.interrupt = &interrupt;
    return generate(options);
  }();
  printer.Clear();
  if (!summary.ok()) {
    return NameWholeFolder(summary.status(), options.common.out);
  }
  PrintSummary(options.common, *summary, watch.Seconds(), json);
  return absl::OkStatus();
}

void AddRmat(Command generate, const bool& json, absl::Status& status) {
  // Shared with the callback, which lives as long as the app.
  auto options = std::make_shared<RmatOptions>();
  const Command app = generate.AddSubcommand(
      "rmat", "A graph of skewed degrees, with labels and features");
  app.AddOption("--scale", options->scale, "2^scale vertices").ShowDefault();
  app.AddOption("--edge-factor", options->edge_factor, "Edges drawn per vertex")
      .ShowDefault();
  app.AddFlag("--directed", options->directed,
              "Keep the edges' directions (else both ways)");
  app.AddFlag("--weights", options->weights, "Random weights of the edges");
  app.AddFlag("--connected-labels", options->connected_labels,
              "Label, and split, only vertices that an edge leads to");
  app.AddOption("--a", options->a, "Share of the first quarter").ShowDefault();
  app.AddOption("--b", options->b, "Share of the second quarter").ShowDefault();
  app.AddOption("--c", options->c, "Share of the third quarter").ShowDefault();
  AddCommonOptions(app, options->common);
  app.OnRun([options, &json, &status] {
    status = RunGenerator(&GenerateRmat, *options, json);
  });
}

void AddSbm(Command generate, const bool& json, absl::Status& status) {
  auto options = std::make_shared<SbmOptions>();
  options->common.num_classes = 10;
  const Command app = generate.AddSubcommand(
      "sbm", "A graph of communities that are the labels, with features");
  app.AddOption("--nodes", options->num_nodes, "Vertices").ShowDefault();
  app.AddOption("--average-degree", options->average_degree,
                "Neighbours of a vertex in the mean")
      .ShowDefault();
  app.AddOption("--homophily", options->homophily,
                "Share of the edges that stay in a class")
      .ShowDefault();
  AddCommonOptions(app, options->common);
  app.OnRun([options, &json, &status] {
    status = RunGenerator(&GenerateSbm, *options, json);
  });
}

}  // namespace

void AddGenerateCommands(Command dataset, const bool& json,
                         absl::Status& status) {
  const Command generate =
      dataset.AddSubcommand("generate", "Make a synthetic dataset");
  generate.NeedSubcommand();
  AddRmat(generate, json, status);
  AddSbm(generate, json, status);
}

}  // namespace fgnn
