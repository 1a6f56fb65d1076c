#include "tools/fgnn/service/follow.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "shared/base/files/file.h"
#include "shared/base/json_text.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/measured/score_fields.h"
#include "tools/fgnn/reports/epoch_metrics.h"
#include "tools/fgnn/reports/job_text.h"
#include "tools/fgnn/reports/progress.h"
#include "tools/fgnn/reports/score_text.h"

namespace fgnn {
namespace {

constexpr int kUsualWidth = 80;

ProgressStyle StyleFor(const CommandContext& context) {
  if (context.quiet) {
    return context.json ? ProgressStyle::kNothing : ProgressStyle::kWarnings;
  }
  if (context.json) return ProgressStyle::kJson;
  return ::isatty(STDOUT_FILENO) != 0 ? ProgressStyle::kTerminal
                                      : ProgressStyle::kPlain;
}

int TerminalWidth() {
  winsize size{};
  const bool known =
      ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsualWidth;
}

// Returns summary.json of the run if the job wrote it, else the job's own
// numbers. A job that could not resume a run leaves the run's summary.
nlohmann::ordered_json SummaryOf(const v1::Job& job) {
  const auto text =
      ReadSmallFile(std::filesystem::path(job.run_dir()) / "summary.json");
  if (text.ok()) {
    auto summary = nlohmann::ordered_json::parse(*text, nullptr,
                                                 /*allow_exceptions=*/false);
    if (summary.is_object() && summary.contains("job_id") &&
        summary["job_id"] == job.job_id()) {
      return summary;
    }
  }
  nlohmann::ordered_json summary = {
      {"job_id", job.job_id()},
      {"state", StateName(job.state())},
      {"seconds", job.run_seconds()},
      {"batches_committed", job.progress().batches_committed()},
      {"batches_expected", job.progress().batches_expected()}};
  const std::optional<double> test = TestScoreOf(job);
  summary[absl::StrCat("test_", ComparedField(ObjectiveOfJob(job)).key)] =
      OrNull(test);
  return summary;
}

void PrintJsonSummary(const v1::Job& job,
                      const std::vector<StageTime>& stages) {
  nlohmann::ordered_json line = {{"type", "summary"}};
  const nlohmann::ordered_json summary = SummaryOf(job);
  for (const auto& [key, value] : summary.items()) line[key] = value;
  line["run_dir"] = job.run_dir();
  if (job.state() == v1::JOB_STATE_FAILED) line["error"] = job.error_message();
  for (const StageTime& stage : stages) {
    line["stages"][stage.stage] = stage.seconds;
  }
  std::cout << JsonText(line) << std::endl;
}

void PrintSummary(const v1::Job& job, const std::vector<StageTime>& stages) {
  const v1::JobProgress& progress = job.progress();
  std::cout << absl::StrFormat(
      "job %s %s in %s: %s of %s batches, %d restarts\n", job.job_id(),
      StateName(job.state()), FormatSeconds(job.run_seconds()),
      FormatCount(progress.batches_committed()),
      FormatCount(progress.batches_expected()), progress.restarts());
  if (!stages.empty()) std::cout << "\n" << StageTableText(stages) << "\n";
  std::cout << TestScoresText(job) << "results         "
            << PrintableText(job.run_dir()) << std::endl;
}

// Returns the epochs that were completed since the last call, given the job.
using EpochSource = std::function<absl::StatusOr<std::vector<EpochMetrics>>(
    const v1::Job& now)>;

EpochSource EpochsInFolder(const v1::Job& job) {
  return [metrics = EpochMetricsReader(std::filesystem::path(job.run_dir()) /
                                       "metrics.jsonl")](
             const v1::Job& /*now*/) mutable { return metrics.ReadNew(); };
}

// For a service on another machine. Asks only when there is more to tell.
EpochSource EpochsOfService(ServiceClient& client) {
  return [&client, known = uint32_t{0}](const v1::Job& now) mutable
         -> absl::StatusOr<std::vector<EpochMetrics>> {
    std::vector<EpochMetrics> epochs;
    if (now.progress().epochs_done() <= known) return epochs;
    FGNN_ASSIGN_OR_RETURN(const std::vector<std::string> lines,
                          client.GetMetrics(now.job_id(), known));
    for (const std::string& line : lines) {
      EpochMetrics epoch = EpochMetrics::parse(line, nullptr,
                                               /*allow_exceptions=*/false);
      if (!epoch.is_object()) {
        return absl::DataLossError("metrics of the service: not a JSON object");
      }
      epochs.push_back(std::move(epoch));
      ++known;
    }
    return epochs;
  };
}

}  // namespace

void AddQuietFlag(Command command, CommandContext& context) {
  command.AddFlag("-q,--quiet", context.quiet,
                  "Show neither phases nor epochs, only warnings and the "
                  "summary; with --json the summary alone");
}

absl::StatusOr<v1::Job> FollowJob(const CommandContext& context,
                                  ServiceClient& client, const v1::Job& job,
                                  Interrupt& interrupt) {
  ProgressReporter reporter(StyleFor(context), std::cout);
  const EpochSource new_epochs =
      context.place.is_remote() ? EpochsOfService(client) : EpochsInFolder(job);
  std::vector<EpochMetrics> epochs;
  absl::Status metrics_status;
  const auto show_finished_epochs = [&](const v1::Job& now) {
    const auto finished = new_epochs(now);
    if (!finished.ok()) {
      metrics_status = finished.status();
      return;
    }
    for (const EpochMetrics& epoch : *finished) {
      reporter.FinishEpoch(epoch, now);
      epochs.push_back(epoch);
    }
  };
  const absl::StatusOr<v1::Job> ended =
      client.Watch(job.job_id(), interrupt, [&](const v1::Job& now) {
        if (metrics_status.ok()) show_finished_epochs(now);
        reporter.Update(now, TerminalWidth());
      });
  // A job that ends soon after a warning has no message between.
  if (ended.ok()) reporter.TellWarnings(*ended);
  reporter.Clear();
  if (interrupt.raised()) {
    std::cerr << "fgnn: job " << job.job_id() << " goes on; see it with '"
              << CommandToType(context, "watch " + job.job_id())
              << "', end it with '"
              << CommandToType(context, "cancel " + job.job_id()) << "'"
              << std::endl;
    return absl::CancelledError("interrupted");
  }
  if (!ended.ok()) return ended.status();
  if (metrics_status.ok()) show_finished_epochs(*ended);
  if (!metrics_status.ok()) {
    std::cerr << "fgnn: " << MessageOf(InOneLine(metrics_status)) << std::endl;
  }
  const std::vector<StageTime> stages = SumStages(epochs);
  if (context.json) {
    PrintJsonSummary(*ended, stages);
  } else if (ended->state() == v1::JOB_STATE_COMPLETED) {
    PrintSummary(*ended, stages);
  }
  return ended;
}

void AnswerWithJob(const absl::StatusOr<v1::Job>& job,
                   const Interrupt& interrupt, CommandContext& context) {
  if (interrupt.raised()) {
    context.exit_code = kInterruptedExitCode;
    return;
  }
  context.status = job.ok() ? StatusOfJob(*job) : job.status();
  if (job.ok() && !context.status.ok()) {
    context.exit_code = ExitCodeOfJob(*job);
  }
}

}  // namespace fgnn
