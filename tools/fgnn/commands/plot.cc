// plot and metrics: how runs went, as a picture and as a table.
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/files/file.h"
#include "shared/base/json_text.h"
#include "shared/base/status.h"
#include "shared/config/job_spec_proto.h"
#include "tools/fgnn/commands/commands.h"
#include "tools/fgnn/history/run_folder.h"
#include "tools/fgnn/reports/epoch_metrics.h"
#include "tools/fgnn/reports/epoch_trend.h"
#include "tools/fgnn/reports/metrics_csv.h"
#include "tools/fgnn/reports/print_report.h"
#include "tools/fgnn/reports/run_plot.h"

namespace fgnn {
namespace {

constexpr char kRunHelp[] =
    "A job: its id, a unique part of it, its --name, or 'last' for the newest; "
    "or a run's folder";

struct MeasuredRun {
  FoundRun run;
  std::vector<EpochMetrics> epochs;  // At least one.
};

absl::StatusOr<MeasuredRun> ReadRun(const std::string& name,
                                    const CommandContext& context) {
  MeasuredRun read;
  FGNN_ASSIGN_OR_RETURN(read.run, FindRun(name, context.place.state_dir));
  const std::filesystem::path file = read.run.folder / "metrics.jsonl";
  FGNN_ASSIGN_OR_RETURN(read.epochs, EpochMetricsReader(file).ReadNew());
  if (read.epochs.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("run '", read.run.name, "' has no finished epoch yet (",
                     file.string(), ")"));
  }
  return read;
}

// Adds the folder's name to names that several runs have.
void TellApart(const std::vector<MeasuredRun>& runs,
               std::vector<PlottedRun>& plotted) {
  for (size_t i = 0; i < runs.size(); ++i) {
    for (size_t j = 0; j < runs.size(); ++j) {
      if (i == j || runs[i].run.name != runs[j].run.name) continue;
      plotted[i].name = absl::StrCat(runs[i].run.name, " ",
                                     runs[i].run.folder.filename().string());
    }
  }
}

struct PlotFlags {
  std::vector<std::string> names;
  std::filesystem::path out = "plot.svg";
};

absl::Status Plot(const PlotFlags& flags, const CommandContext& context) {
  const std::filesystem::path& out = flags.out;
  if (out.extension() != ".svg") {
    return absl::InvalidArgumentError(
        absl::StrCat("--out ", out.string(),
                     ": plots are SVG; name a file that ends in .svg"));
  }
  std::vector<MeasuredRun> runs;
  std::vector<PlottedRun> plotted;
  for (const std::string& name : flags.names) {
    FGNN_ASSIGN_OR_RETURN(MeasuredRun run, ReadRun(name, context));
    plotted.push_back({run.run.name, run.epochs});
    runs.push_back(std::move(run));
  }
  TellApart(runs, plotted);
  FGNN_RETURN_IF_ERROR(WriteFileAtomically(out, ToSvg(plotted)));
  nlohmann::ordered_json folders = nlohmann::ordered_json::array();
  for (const MeasuredRun& run : runs)
    folders.push_back(run.run.folder.string());
  PrintAnswer({{"file", out.string()}, {"run_dirs", folders}},
              out.string() + "\n", context);
  return absl::OkStatus();
}

absl::Status PrintMetrics(const std::string& name,
                          const CommandContext& context) {
  FGNN_ASSIGN_OR_RETURN(MeasuredRun read, ReadRun(name, context));
  FGNN_ASSIGN_OR_RETURN(const v1::JobSpec spec,
                        ReadRunsJobFile(read.run.folder));
  EpochTrend trend(spec);
  for (EpochMetrics& epoch : read.epochs) {
    trend.Add(epoch);
    epoch["learning_rate"] = nullptr;
    if (trend.learning_rate()) epoch["learning_rate"] = *trend.learning_rate();
  }
  if (!context.json) {
    std::cout << MetricsCsv(read.epochs);
    return absl::OkStatus();
  }
  for (const EpochMetrics& epoch : read.epochs) {
    std::cout << JsonText(epoch) << "\n";
  }
  return absl::OkStatus();
}

}  // namespace

void AddPlotCommands(Command app, CommandContext& context) {
  const Command plot = app.AddSubcommand(
      "plot",
      "Draw how jobs went, side by side: loss, validation, hit rate and what "
      "takes the time of an epoch, as SVG");
  context.places["plot"] = CommandPlace::kThisMachine;
  PlotFlags& flags = OnRun(plot, context, &Plot);
  plot.AddOption("JOB", flags.names, kRunHelp).Required().Takes("JOB");
  plot.AddOption("--out", flags.out, "File to write")
      .Takes("FILE")
      .ShowDefault();

  const Command metrics = app.AddSubcommand(
      "metrics",
      "Print a line of CSV for each epoch of a job: its loss, scores, seconds, "
      "stages and learning rate");
  context.places["metrics"] = CommandPlace::kThisMachine;
  metrics.AddOption("JOB", OnRun(metrics, context, &PrintMetrics), kRunHelp)
      .Required()
      .Takes("JOB");
}

}  // namespace fgnn
