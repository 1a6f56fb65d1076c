#include "tools/fgnn/dataset/dataset_cli.h"

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "shared/base/clock.h"
#include "shared/base/json_text.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/graph/book/own_rows.h"
#include "shared/graph/dataset.h"
#include "tools/dataset/building/dataset_writer.h"
#include "tools/dataset/building/interrupt_cleanup.h"
#include "tools/dataset/building/progress.h"
#include "tools/dataset/building/split_edges.h"
#include "tools/dataset/inspecting/dataset_info.h"
#include "tools/dataset/inspecting/dataset_notices.h"
#include "tools/fgnn/dataset/generate_cli.h"
#include "tools/fgnn/dataset/job_checks.h"
#include "tools/fgnn/dataset/partition_cli.h"

namespace fgnn {
namespace {

absl::Status RunInfo(const std::filesystem::path& folder, bool json) {
  FGNN_ASSIGN_OR_RETURN(const DatasetInfo info, ReadDatasetInfo(folder));
  absl::PrintF("%s", json ? InfoToJson(info) + "\n" : FormatInfo(info));
  return absl::OkStatus();
}

void AddLabelChecks(const Dataset& dataset, std::vector<std::string>* checks) {
  if (!dataset.labels().empty()) {
    checks->push_back(
        absl::StrCat("labels.npy: ", FormatCount(dataset.labels().size()),
                     " labels in [-1, ", dataset.num_classes(), ")"));
  }
  const TargetView& targets = dataset.targets();
  if (targets.rows > 0) {
    checks->push_back(absl::StrCat(
        "targets.npy: ", FormatCount(targets.rows), " x ",
        FormatCount(targets.columns), " ", std::string(NameOf(targets.type)),
        targets.type == TargetType::kFloat32 ? ", finite or NaN"
                                             : ", 0, 1 or 255"));
  }
}

// Returns the names of the checks that kEverything made in this folder.
std::vector<std::string> ChecksOf(const Dataset& dataset) {
  std::vector<std::string> checks = {
      absl::StrCat("csc_indptr.npy: ", FormatCount(dataset.num_nodes() + 1),
                   " offsets rise from 0 to the number of edges"),
      absl::StrCat("indices.npy: ", FormatCount(dataset.num_edges()),
                   " global ids below ", FormatCount(dataset.num_nodes()))};
  AddLabelChecks(dataset, &checks);
  checks.push_back(absl::StrCat(
      "train.npy, valid.npy, test.npy: ", FormatCount(dataset.train().size()),
      ", ", FormatCount(dataset.valid().size()), " and ",
      FormatCount(dataset.test().size()),
      " global ids in range, labelled, once each"));
  const uint64_t split_edges =
      dataset.valid_edges().size() + dataset.test_edges().size() +
      (dataset.has_train_edges() ? dataset.train_edges().size() : 0);
  if (split_edges > 0) {
    checks.push_back(absl::StrCat(
        "train_edges.npy, valid_edges.npy, test_edges.npy: ",
        FormatCount(split_edges), " edges between vertices in range"));
  }
  const FeatureView& features = dataset.features();
  if (features.columns > 0) {
    checks.push_back(absl::StrCat("features.npy: ", FormatCount(features.rows),
                                  " x ", FormatCount(features.columns), " ",
                                  std::string(NameOf(features.type)),
                                  ", all finite"));
  }
  if (!dataset.edge_weights().empty()) {
    checks.push_back(absl::StrCat(
        "edge_weights.npy: ", FormatCount(dataset.edge_weights().size()),
        " weights, finite and not negative"));
  }
  if (dataset.has_names()) {
    checks.push_back("names.txt: a line for each vertex");
  }
  if (const std::optional<HostRows> host = dataset.host_rows();
      host.has_value()) {
    checks.push_back(absl::StrCat("book.bin, features.npy: ", Describe(*host)));
  }
  return checks;
}

// Says of each task whether jobs train on the dataset.
std::vector<std::string> LinesOf(const std::vector<TaskCheck>& tasks) {
  std::vector<std::string> lines;
  for (const TaskCheck& check : tasks) {
    lines.push_back(absl::StrCat(
        "training.task ", check.task,
        check.status.ok()
            ? std::string(": jobs train on it")
            : absl::StrCat(": jobs are refused: ", MessageOf(check.status))));
  }
  return lines;
}

nlohmann::ordered_json ToJson(const std::vector<TaskCheck>& tasks) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const TaskCheck& check : tasks) {
    nlohmann::ordered_json task = {{"task", check.task},
                                   {"trains", check.status.ok()}};
    if (!check.status.ok()) task["reason"] = MessageOf(check.status);
    array.push_back(std::move(task));
  }
  return array;
}

// `job`: a job file to check the dataset for; empty: none.
absl::Status RunValidate(const std::filesystem::path& folder,
                         const std::filesystem::path& job, bool json) {
  const Stopwatch watch;
  // The check of a job that starts: SamplerDaemon::ValidateDataset().
  FGNN_ASSIGN_OR_RETURN(const Dataset dataset,
                        Dataset::Open(folder, Validation::kEverything));
  if (dataset.host_rows().has_value()) {
    FGNN_RETURN_IF_ERROR(CheckHostFolder(dataset));
    FGNN_RETURN_IF_ERROR(dataset.ContentFingerprint().status());
  }
  if (!job.empty()) FGNN_RETURN_IF_ERROR(CheckJob(job, folder));
  const std::vector<std::string> checks = ChecksOf(dataset);
  const std::vector<TaskCheck> tasks = CheckTasks(folder);
  FGNN_ASSIGN_OR_RETURN(const std::optional<std::string> warning,
                        DatasetWarning(dataset));
  FGNN_ASSIGN_OR_RETURN(const std::vector<std::string> notices,
                        DatasetNotices(dataset));
  const double seconds = watch.Seconds();
  if (!json) {
    absl::PrintF("%s\n", absl::StrJoin(checks, "\n"));
    absl::PrintF("%s\n", absl::StrJoin(LinesOf(tasks), "\n"));
    if (!job.empty()) absl::PrintF("%s: its job trains on it\n", job.string());
    if (warning.has_value()) absl::PrintF("warning: %s\n", *warning);
    for (const std::string& notice : notices) {
      absl::PrintF("notice: %s\n", notice);
    }
    absl::PrintF("%s: valid, %s in %s\n", folder.string(),
                 FormatBytes(dataset.total_bytes()), FormatSeconds(seconds));
    return absl::OkStatus();
  }
  nlohmann::ordered_json document = {
      {"dataset", folder.string()}, {"valid", true},
      {"checked", checks},          {"tasks", ToJson(tasks)},
      {"notices", notices},         {"bytes", dataset.total_bytes()},
      {"seconds", seconds}};
  if (warning.has_value()) document["warning"] = *warning;
  absl::PrintF("%s\n", JsonText(document, 2));
  return absl::OkStatus();
}

absl::Status RunSplitEdges(SplitEdgesOptions options, bool json) {
  const Stopwatch watch;
  ProgressPrinter printer(stderr);
  options.progress = [&printer](std::string_view stage, uint64_t done,
                                uint64_t total) {
    printer.Show(stage, done, total);
  };
  const absl::StatusOr<SplitEdgesSummary> summary = [&] {
    InterruptCleanup interrupt;
    options.interrupt = &interrupt;
    return SplitEdges(options);
  }();
  printer.Clear();
  if (!summary.ok()) return NameWholeFolder(summary.status(), options.out);
  if (!json) {
    absl::PrintF("made %s: edges train %s, valid %s, test %s, in %s\n",
                 options.out.string(), FormatCount(summary->num_train),
                 FormatCount(summary->num_valid),
                 FormatCount(summary->num_test),
                 FormatSeconds(watch.Seconds()));
    return absl::OkStatus();
  }
  const nlohmann::ordered_json document = {{"dataset", options.out.string()},
                                           {"edges",
                                            {{"train", summary->num_train},
                                             {"valid", summary->num_valid},
                                             {"test", summary->num_test}}},
                                           {"seed", options.seed},
                                           {"seconds", watch.Seconds()}};
  absl::PrintF("%s\n", JsonText(document, 2));
  return absl::OkStatus();
}

void AddSplitEdges(Command dataset, const bool& json, absl::Status& status) {
  // Shared with the callback, which lives as long as the app.
  auto options = std::make_shared<SplitEdgesOptions>();
  const Command app = dataset.AddSubcommand(
      "split-edges", "Take edges out of a dataset's graph, to predict them");
  app.AddOption("folder", options->dataset, "The dataset's folder")
      .Required()
      .Takes("DIR");
  app.AddOption("--valid", options->valid,
                "Share of the edges that is for validation")
      .ShowDefault();
  app.AddOption("--test", options->test,
                "Share of the edges that is for the test")
      .ShowDefault();
  app.AddOption("--seed", options->seed, "Seed of every random choice")
      .ShowDefault();
  app.AddOption("--out", options->out, "The folder to make")
      .Required()
      .Takes("DIR");
  app.OnRun(
      [options, &json, &status] { status = RunSplitEdges(*options, json); });
}

void AddFolderCommand(Command dataset, const std::string& name,
                      const std::string& description,
                      absl::Status (*run)(const std::filesystem::path&, bool),
                      const bool& json, absl::Status& status) {
  // Shared with the callback, which lives as long as the app.
  auto folder = std::make_shared<std::filesystem::path>();
  const Command app = dataset.AddSubcommand(name, description);
  app.AddOption("folder", *folder, "The dataset's folder")
      .Required()
      .Takes("DIR");
  app.OnRun([folder, run, &json, &status] { status = run(*folder, json); });
}

void AddValidate(Command dataset, const bool& json, absl::Status& status) {
  struct Paths {
    std::filesystem::path folder;
    std::filesystem::path job;
  };
  // Shared with the callback, which lives as long as the app.
  auto paths = std::make_shared<Paths>();
  const Command app = dataset.AddSubcommand(
      "validate", "Read all of a dataset and check every value");
  app.AddOption("folder", paths->folder, "The dataset's folder")
      .Required()
      .Takes("DIR");
  app.AddOption("--job", paths->job,
                "Also check that this job would train on it")
      .Takes("JOB.yaml");
  app.OnRun([paths, &json, &status] {
    status = RunValidate(paths->folder, paths->job, json);
  });
}

}  // namespace

void AddDatasetCommands(Command dataset, const bool& json,
                        absl::Status& status) {
  AddGenerateCommands(dataset, json, status);
  AddSplitEdges(dataset, json, status);
  AddPartitionCommand(dataset, json, status);
  AddFolderCommand(dataset, "info", "What a dataset holds", &RunInfo, json,
                   status);
  AddValidate(dataset, json, status);
}

}  // namespace fgnn
