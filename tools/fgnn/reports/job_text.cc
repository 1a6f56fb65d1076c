#include "tools/fgnn/reports/job_text.h"

#include <algorithm>
#include <ctime>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/measured/score_fields.h"
#include "tools/fgnn/reports/score_text.h"
#include "tools/fgnn/reports/text_table.h"

namespace fgnn {
namespace {

std::string ExecutorTable(
    const google::protobuf::RepeatedPtrField<v1::Executor>& executors) {
  TextTable table({"executor", "device", "pid", "state", "job", "batches",
                   "restarts", "memory"},
                  {2, 5, 6, 7});
  for (const v1::Executor& executor : executors) {
    table.AddRow(
        {executor.name(), executor.device(),
         executor.pid() == 0 ? "-" : absl::StrCat(executor.pid()),
         executor.state(), executor.job_id().empty() ? "-" : executor.job_id(),
         FormatCount(executor.batches()), absl::StrCat(executor.restarts()),
         FormatBytes(static_cast<uint64_t>(
             std::max<int64_t>(executor.resident_bytes(), 0)))});
  }
  return table.ToString();
}

void AppendLine(const char* name, const std::string& value, std::string* text) {
  // The value may hold other people's text.
  absl::StrAppendFormat(text, "%-15s %s\n", name, PrintableText(value));
}

// "cpu:0 cpu:1", "1 to 2 of kind cpu, of at most 3 hosts", "all of the
// service".
std::string WantedText(const v1::JobSpec& spec) {
  if (!spec.has_device_request()) {
    return spec.devices().empty() ? "all of the service"
                                  : absl::StrJoin(spec.devices(), " ");
  }
  const v1::DeviceRequest& request = spec.device_request();
  return absl::StrCat(
      request.min(),
      request.max() > request.min() ? absl::StrCat(" to ", request.max()) : "",
      " of kind ", request.kind(),
      spec.hosts().max() > 1
          ? absl::StrCat(", of at most ", spec.hosts().max(), " hosts")
          : "");
}

// "head 3 (12.1 batches a second), host1 1 (4.0 batches a second)".
std::string SharesText(const v1::JobProgress& progress) {
  std::vector<std::string> shares;
  for (const v1::HostShare& share : progress.shares()) {
    shares.push_back(
        absl::StrFormat("%s %d (%.1f batches a second)",
                        share.host().empty() ? "head" : share.host(),
                        share.batches(), share.batches_per_second()));
  }
  return absl::StrJoin(shares, ", ");
}

}  // namespace

std::string StateName(v1::JobState state) {
  const absl::string_view name = v1::JobState_Name(state);
  constexpr absl::string_view kPrefix = "JOB_STATE_";
  return state != v1::JOB_STATE_UNSPECIFIED && absl::StartsWith(name, kPrefix)
             ? absl::AsciiStrToLower(name.substr(kPrefix.size()))
             : "unknown";
}

absl::StatusOr<v1::JobState> ParseStateName(const std::string& name) {
  std::vector<std::string> known;
  for (int number = 1; v1::JobState_IsValid(number); ++number) {
    const auto state = static_cast<v1::JobState>(number);
    if (StateName(state) == name) return state;
    known.push_back(StateName(state));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "no job is '", name, "'; states are ", absl::StrJoin(known, ", ")));
}

bool HasEnded(v1::JobState state) {
  return state == v1::JOB_STATE_COMPLETED || state == v1::JOB_STATE_FAILED ||
         state == v1::JOB_STATE_CANCELLED;
}

absl::Status StatusOfJob(const v1::Job& job) {
  switch (job.state()) {
    case v1::JOB_STATE_COMPLETED:
      return absl::OkStatus();
    case v1::JOB_STATE_FAILED: {
      const auto code = static_cast<absl::StatusCode>(job.error_code());
      return absl::Status(
          code == absl::StatusCode::kOk ? absl::StatusCode::kInternal : code,
          absl::StrCat("job ", job.job_id(), " failed: ",
                       job.error_message().empty() ? "no reason was given"
                                                   : job.error_message()));
    }
    case v1::JOB_STATE_CANCELLED:
      return absl::CancelledError(
          absl::StrCat("job ", job.job_id(), " was cancelled"));
    default:
      return absl::FailedPreconditionError(absl::StrCat(
          "job ", job.job_id(), " has not ended: ", StateName(job.state())));
  }
}

int ExitCodeOfJob(const v1::Job& job) {
  const absl::Status status = StatusOfJob(job);
  const bool trained = job.progress().batches_committed() > 0;
  return trained && !status.ok() ? 1 : ExitCode(status);
}

std::string FormatTime(int64_t unix_ms) {
  if (unix_ms == 0) return "-";
  const std::time_t seconds = unix_ms / 1000;
  std::tm local{};
  if (::localtime_r(&seconds, &local) == nullptr) return "-";
  char text[32];
  const size_t size =
      std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
  return std::string(text, size);
}

std::string JobText(const v1::Job& job) {
  const v1::JobProgress& progress = job.progress();
  std::string text;
  const auto line = [&text](const char* name, const std::string& value) {
    AppendLine(name, value, &text);
  };
  line("job", job.job_id());
  line("state", HasEnded(job.state()) || progress.phase().empty()
                    ? StateName(job.state())
                    : StateName(job.state()) + " (" + progress.phase() + ")");
  if (job.state() == v1::JOB_STATE_FAILED) line("error", job.error_message());
  if (job.state() != v1::JOB_STATE_FAILED && !job.error_message().empty() &&
      job.attempts() > 0 && !HasEnded(job.state())) {
    line("failed before", job.error_message());
  }
  if (!progress.warning().empty()) line("warning", progress.warning());
  if (!progress.checkpoint_warning().empty()) {
    line("checkpoints", progress.checkpoint_warning());
  }
  if (!job.waiting_for().empty()) line("waiting", job.waiting_for());
  if (!job.name().empty()) line("name", job.name());
  line("user", job.user().empty() ? "-" : job.user());
  line("priority", absl::StrCat(job.priority()));
  if (job.after_size() > 0) line("after", absl::StrJoin(job.after(), ", "));
  if (job.retries() > 0 || job.attempts() > 0) {
    line("failed starts",
         absl::StrCat(job.attempts(), ", retries ", job.retries()));
  }
  if (job.time_limit_seconds() > 0) {
    line("time limit", FormatSeconds(job.time_limit_seconds()));
  }
  if (job.preemptions() > 0) {
    line("gave way", absl::StrCat(job.preemptions(), " times"));
  }
  line("wants devices", WantedText(job.spec()));
  if (job.devices_size() > 0) {
    line("has devices", absl::StrJoin(job.devices(), " "));
  }
  if (progress.shares_size() > 0) line("shares", SharesText(progress));
  line("dataset", job.spec().dataset());
  if (job.spec().training().parts() > 1) {
    line("parts",
         absl::StrCat(job.spec().training().parts(), " of each batch"));
  }
  line("run folder", job.run_dir());
  line("submitted", FormatTime(job.submitted_ms()));
  line("started", FormatTime(job.started_ms()));
  line("finished", FormatTime(job.finished_ms()));
  line("took", FormatSeconds(job.run_seconds()));
  line("epochs",
       absl::StrCat(progress.epochs_done(), " of ", progress.epochs()));
  line("batches",
       absl::StrCat(FormatCount(progress.batches_committed()), " of ",
                    FormatCount(progress.batches_expected())));
  line("loss", absl::StrFormat("%.4f", progress.loss()));
  const Objective objective = ObjectiveOfJob(job);
  line(absl::StrCat("valid ", ComparedField(objective).words).c_str(),
       FormatCompared(objective, ValidScoreOf(job)));
  text += TestScoresText(job);
  line("restarts", absl::StrCat(progress.restarts()));
  if (progress.executors_size() > 0) {
    text += "\n" + ExecutorTable(progress.executors());
  }
  return text;
}

std::string JobListText(const v1::ListJobsResponse& jobs) {
  if (jobs.jobs_size() == 0) return "no jobs\n";
  TextTable table(
      {"job", "state", "user", "priority", "submitted", "took", "epochs",
       "valid", "test", "devices", "name", "waiting or run folder"},
      {3, 6, 7, 8});
  for (const v1::Job& job : jobs.jobs()) {
    const v1::JobProgress& progress = job.progress();
    const Objective objective = ObjectiveOfJob(job);
    const auto text_of = [objective](std::optional<double> score) {
      const std::string text = FormatCompared(objective, score);
      return objective == Objective::kClasses
                 ? text
                 : absl::StrCat(ComparedField(objective).words, " ", text);
    };
    table.AddRow(
        {job.job_id(), StateName(job.state()),
         job.user().empty() ? "-" : job.user(), absl::StrCat(job.priority()),
         FormatTime(job.submitted_ms()), FormatSeconds(job.run_seconds()),
         absl::StrCat(progress.epochs_done(), "/", progress.epochs()),
         text_of(ValidScoreOf(job)), text_of(TestScoreOf(job)),
         job.devices_size() == 0 ? "-" : absl::StrJoin(job.devices(), " "),
         job.name().empty() ? "-" : job.name(),
         job.waiting_for().empty() ? job.run_dir() : job.waiting_for()});
  }
  return table.ToString();
}

std::string ServiceText(const v1::ServiceInfo& service) {
  std::string text = absl::StrFormat(
      "service runs: version %s, pid %d, since %s%s\n"
      "state folder  %s\n"
      "devices       %s\n"
      "jobs          %d running, %d queued%s\n",
      service.version(), service.pid(), FormatTime(service.started_ms()),
      service.exits_when_idle() ? ", ends when it has nothing to do" : "",
      PrintableText(service.state_dir()), absl::StrJoin(service.devices(), " "),
      service.jobs_running(), service.jobs_queued(),
      service.jobs_paused() == 0
          ? ""
          : absl::StrCat(", ", service.jobs_paused(), " paused"));
  if (!service.http().empty()) {
    absl::StrAppendFormat(&text, "pages         http://%s/\n", service.http());
  }
  if (service.executors_size() > 0) {
    text += "\n" + ExecutorTable(service.executors());
  }
  return text;
}

}  // namespace fgnn
