#include "tools/fgnn/reports/run_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "shared/base/printable_text.h"
#include "tools/plot/bar_plot.h"
#include "tools/plot/line_plot.h"

namespace fgnn {
namespace {

// Sizes in pixels. Two plots stand side by side.
constexpr double kMargin = 20;      // Space around the document's contents.
constexpr double kCellWidth = 430;  // Width of a plot with its labels.
constexpr double kAround = 48;      // Space above and below the axes.
constexpr double kLeft = 64;        // Space beside the axes.
constexpr double kRight = 16;
constexpr double kPlotHeight = 200;  // Least height between the axes.
constexpr double kSwatch = 3;
constexpr size_t kLongestName = 44;  // Characters of a run's name.

struct ScorePlot {
  const char* key;  // Key in metrics.jsonl.
  const char* title;
  const char* y_label;
  PlotScale scale;
};
constexpr ScorePlot kScores[] = {
    {"valid_accuracy", "Validation accuracy", "share of the vertices",
     PlotScale::kFittedShares},
    {"valid_mrr", "Validation MRR", "mean reciprocal rank",
     PlotScale::kNumbers},
    {"valid_mean_rank", "Validation mean rank", "rank among random edges",
     PlotScale::kNumbers},
    {"valid_rmse", "Validation RMSE", "mean over the columns",
     PlotScale::kNumbers},
    {"valid_r2", "Validation R2", "mean over the columns", PlotScale::kNumbers},
    {"valid_micro_f1", "Validation micro-F1", "over all vertices and classes",
     PlotScale::kNumbers}};

// They have a plot if a run has numbers above 0.
constexpr ScorePlot kFeatureRows[] = {
    {"cache_hit_rate", "Hit rate of the feature cache",
     "share of the vertices read", PlotScale::kShares},
    {"match_rate", "Rows copied from the batch before",
     "share of the cache's misses", PlotScale::kShares}};

// Returns a value for each epoch; NaN: it was not measured.
std::vector<double> ValuesOf(const PlottedRun& run, const std::string& key) {
  std::vector<double> values;
  for (const EpochMetrics& epoch : run.epochs) {
    const auto found = epoch.find(key);
    values.push_back(found != epoch.end() && found->is_number()
                         ? found->get<double>()
                         : std::numeric_limits<double>::quiet_NaN());
  }
  return values;
}

bool IsMeasured(const std::vector<PlottedRun>& runs, const std::string& key) {
  return std::any_of(runs.begin(), runs.end(), [&](const PlottedRun& run) {
    const std::vector<double> values = ValuesOf(run, key);
    return std::any_of(values.begin(), values.end(),
                       [](double value) { return std::isfinite(value); });
  });
}

LinePlot PlotOf(const std::vector<PlottedRun>& runs, const ScorePlot& what) {
  LinePlot plot = {.title = what.title,
                   .x_label = "epoch",
                   .y_label = what.y_label,
                   .xs = {},
                   .lines = {},
                   .x_scale = PlotScale::kCounts,
                   .y_scale = what.scale};
  size_t epochs = 0;
  for (const PlottedRun& run : runs) {
    plot.lines.push_back({run.name, ValuesOf(run, what.key)});
    epochs = std::max(epochs, run.epochs.size());
  }
  for (size_t i = 1; i <= epochs; ++i) {
    plot.xs.push_back(static_cast<double>(i));
  }
  return plot;
}

bool IsAboveZero(const LinePlot& plot) {
  return std::any_of(
      plot.lines.begin(), plot.lines.end(), [](const PlotLine& line) {
        return std::any_of(line.ys.begin(), line.ys.end(),
                           [](double value) { return value > 0; });
      });
}

std::vector<LinePlot> LinePlotsOf(const std::vector<PlottedRun>& runs) {
  const bool in_nats = !IsMeasured(runs, "valid_rmse");
  std::vector<LinePlot> plots = {PlotOf(
      runs,
      {.key = "loss",
       .title = "Loss in training",
       .y_label = in_nats ? "mean of an epoch, in nats" : "mean of an epoch",
       .scale = PlotScale::kNumbers})};
  for (const ScorePlot& score : kScores) {
    if (IsMeasured(runs, score.key)) plots.push_back(PlotOf(runs, score));
  }
  for (const ScorePlot& rows : kFeatureRows) {
    LinePlot plot = PlotOf(runs, rows);
    if (IsAboveZero(plot)) plots.push_back(std::move(plot));
  }
  return plots;
}

// Adds the amount of a stage to the bar of run `run`.
void AddStage(const StageTime& stage, size_t run, double epochs,
              BarPlot& plot) {
  if (stage.seconds <= 0) return;
  auto part = std::find(plot.parts.begin(), plot.parts.end(), stage.stage);
  if (part == plot.parts.end()) {
    part = plot.parts.insert(part, stage.stage);
    for (PlotBar& bar : plot.bars) bar.amounts.push_back(0);
  }
  plot.bars[run].amounts[static_cast<size_t>(part - plot.parts.begin())] +=
      stage.seconds / epochs;
}

BarPlot StagesOf(const std::vector<PlottedRun>& runs) {
  BarPlot plot = {.title = "Where the time goes",
                  .x_label = "seconds of an epoch, over all executors",
                  .parts = {},
                  .bars = {}};
  for (const PlottedRun& run : runs) plot.bars.push_back({run.name, {}});
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto epochs = static_cast<double>(runs[i].epochs.size());
    for (const StageTime& stage : SumStages(runs[i].epochs)) {
      AddStage(stage, i, epochs, plot);
    }
  }
  return plot;
}

// Returns the box between the axes of cell `cell`, counted row by row.
PlotBox BoxOf(size_t cell, double top, double height) {
  const double left = kMargin + kCellWidth * static_cast<double>(cell % 2);
  return {left + kLeft, top + kAround, kCellWidth - kLeft - kRight, height};
}

}  // namespace

std::string ToSvg(const std::vector<PlottedRun>& runs) {
  std::vector<PlottedRun> shown = runs;
  std::vector<std::string> names;
  for (PlottedRun& run : shown) {
    run.name = Shortened(PrintableText(run.name), kLongestName);
    names.push_back(run.name);
  }
  const DrawnLegend legend = DrawLegend(
      names, {kMargin, kMargin, 2 * kCellWidth - kMargin, 0}, kSwatch);
  std::string shapes = legend.shapes;
  double top = kMargin + legend.height;
  const std::vector<LinePlot> plots = LinePlotsOf(shown);
  const BarPlot stages = StagesOf(shown);
  for (size_t cell = 0; cell < plots.size(); ++cell) {
    shapes += DrawLines(plots[cell], BoxOf(cell, top, kPlotHeight));
    if (cell % 2 == 1) top += kPlotHeight + 2 * kAround;
  }
  PlotBox box = BoxOf(plots.size(), top, kPlotHeight);
  if (plots.size() % 2 == 0) box.width += kCellWidth;  // Nothing is beside it.
  box.height = std::max(box.height, HeightOf(stages, box.width));
  shapes += DrawBars(stages, box);
  return SvgDocument(2 * (kMargin + kCellWidth), box.bottom() + kAround + 10,
                     shapes);
}

}  // namespace fgnn
