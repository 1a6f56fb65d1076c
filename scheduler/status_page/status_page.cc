#include "scheduler/status_page/status_page.h"

#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/figures/run_metrics.h"
#include "scheduler/status_page/device_now.h"
#include "scheduler/status_page/page_files.h"
#include "scheduler/status_page/page_html.h"
#include "scheduler/status_page/run_curves.h"
#include "scheduler/status_page/status_json.h"
#include "shared/base/json_text.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

using nlohmann::ordered_json;

constexpr std::chrono::seconds kBetweenLooks{1};
constexpr size_t kMostMoments = 300;  // Five minutes.
constexpr size_t kMostShownDevices = 64;
constexpr uint32_t kMostWaiting = 50;
constexpr uint32_t kMostPaused = 20;
constexpr uint32_t kMostEnded = 30;
constexpr uint32_t kPageOfJobs = 50;
constexpr size_t kMostRows = 400;
// Most epochs that are drawn; of longer runs the last ones.
constexpr uint32_t kMostEpochs = 4'000;
constexpr size_t kMostMetricsBytes = 32 << 20;
constexpr size_t kLongestSpec = 64 << 10;
constexpr size_t kMostAnswers = 64;

// Returns the filter of jobs that have ended and were submitted before this
// one; empty: all that have ended.
JobFilter EndedBefore(const std::string& job_id) {
  return {
      .states = {JobState::kCompleted, JobState::kFailed, JobState::kCancelled},
      .before_id = job_id};
}

int HttpStatusOf(const absl::Status& status) {
  if (absl::IsNotFound(status)) return 404;
  return absl::IsInvalidArgument(status) ? 400 : 500;
}

HttpResponse JsonAnswer(const absl::StatusOr<ordered_json>& json) {
  if (json.ok()) {
    return {.status = 200,
            .content_type = "application/json",
            .body = JsonText(*json)};
  }
  const std::string why = PrintableText(MessageOf(json.status()));
  return {.status = HttpStatusOf(json.status()),
          .content_type = "application/json",
          .body = JsonText(ordered_json{{"error", why}})};
}

HttpResponse HtmlAnswer(const absl::StatusOr<std::string>& html) {
  if (html.ok()) {
    return {.status = 200,
            .content_type = "text/html; charset=utf-8",
            .body = *html};
  }
  return {.status = 500,
          .content_type = "text/plain; charset=utf-8",
          .body = PrintableText(MessageOf(html.status())) + "\n"};
}

HttpHandler FileHandler(const PageFile& file) {
  return [file](const HttpRequest& /*request*/) -> HttpResponse {
    return {.status = 200,
            .content_type = std::string(file.content_type),
            .body = std::string(file.text)};
  };
}

// Returns the parameter; empty: the request lacks it.
std::string Parameter(const HttpRequest& request, const std::string& name) {
  const auto found = request.query.find(name);
  return found == request.query.end() ? "" : found->second;
}

}  // namespace

// What the service does, copied out of its locks.
struct StatusPage::Now {
  JobsNow jobs;
  std::vector<DeviceNow> devices;
  std::vector<QueueNow> queues;
};

StatusPage::StatusPage(StatusPageFacts facts, JobTable* table, DaemonHost* host)
    : facts_(std::move(facts)),
      table_(table),
      host_(host),
      answers_(kMostAnswers),
      job_answers_(kMostAnswers),
      history_(kMostMoments, kMostShownDevices),
      thread_("status page", [this] { Record(); }) {}

StatusPage::~StatusPage() {
  {
    const MutexLock lock(&mutex_);
    ends_ = true;
  }
  changed_.NotifyAll();
  thread_.Join();
}

HttpHandlers StatusPage::Handlers() {
  HttpHandlers handlers;
  handlers["/"] = [this](const HttpRequest& /*request*/) {
    return answers_.Get("/", [this] { return HtmlAnswer(Page()); });
  };
  handlers["/api/status"] = [this](const HttpRequest& /*request*/) {
    return answers_.Get("/api/status",
                        [this] { return JsonAnswer(StatusNow()); });
  };
  handlers["/api/jobs"] = [this](const HttpRequest& request) {
    const std::string before = Parameter(request, "before");
    return answers_.Get(absl::StrCat("/api/jobs ", before), [this, &before] {
      return JsonAnswer(JobsBefore(before));
    });
  };
  handlers["/api/job"] = [this](const HttpRequest& request) {
    const std::string id = Parameter(request, "id");
    return job_answers_.Get(id, [this, &id] { return JsonAnswer(OneJob(id)); });
  };
  for (const PageFile& file : PageFiles()) {
    handlers[std::string(file.path)] = FileHandler(file);
  }
  return handlers;
}

void StatusPage::Record() {
  while (true) {
    const absl::Status looked = CatchExceptions([this] {
      Remember(Look(/*most_waiting=*/0));
      return absl::OkStatus();
    });
    if (!looked.ok()) LogError("status page: {}", MessageOf(looked));
    MutexLock lock(&mutex_);
    changed_.WaitUntil(
        &lock, DeadlineIn(kBetweenLooks),
        [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ends_; });
    if (ends_) return;
  }
}

void StatusPage::Remember(const Now& now) {
  const MutexLock lock(&mutex_);
  history_.Add(UnixMilliseconds(), now.devices, now.queues);
}

StatusPage::Now StatusPage::Look(uint32_t most_waiting) {
  Now now;
  now.jobs = table_->Now(most_waiting);
  now.devices = DevicesNow(now.jobs.running, facts_.devices);
  for (const Job& job : now.jobs.running) {
    const std::optional<SlotCounts> counts = host_->QueueOf(job.id);
    if (counts.has_value()) now.queues.push_back({job.id, *counts});
  }
  return now;
}

absl::StatusOr<ordered_json> StatusPage::StatusNow() {
  const Now now = Look(kMostWaiting);
  const JobTable::Counts counts = table_->counts();
  std::vector<Job> paused;
  if (counts.paused > 0) {
    FGNN_ASSIGN_OR_RETURN(
        paused, table_->List({.states = {JobState::kPaused}}, kMostPaused));
  }
  FGNN_ASSIGN_OR_RETURN(const std::vector<Job> ended,
                        table_->List(EndedBefore(""), kMostEnded));
  const std::vector<ExecutorView> executors = host_->Executors();
  const MemberTable* const members = facts_.members;
  const std::string own_host = members == nullptr ? "" : members->head().name;
  ordered_json history;
  {
    const MutexLock lock(&mutex_);
    history = history_.ToJson();
  }
  return ordered_json{
      {"time_ms", UnixMilliseconds()},
      {"version", facts_.version},
      {"state_dir", PrintableText(facts_.state_dir)},
      {"started_ms", facts_.started_ms},
      {"jobs_running", counts.running},
      {"jobs_queued", counts.queued},
      {"jobs_paused", counts.paused},
      {"running", JobsToJson(now.jobs.running)},
      {"queued", JobsToJson(now.jobs.waiting)},
      {"paused", JobsToJson(paused)},
      {"ended", JobsToJson(ended)},
      {"devices", DevicesToJson(now.devices)},
      {"executors", ExecutorsToJson(executors)},
      {"queues", QueuesToJson(now.queues)},
      {"host", PrintableText(own_host)},
      {"hosts", HostsToJson(members == nullptr ? std::vector<MemberView>()
                                               : members->Views())},
      {"links", LinksToJson(members == nullptr ? std::vector<HostPair>()
                                               : members->pairs().All())},
      {"history", std::move(history)}};
}

absl::StatusOr<ordered_json> StatusPage::JobsBefore(const std::string& job_id) {
  FGNN_ASSIGN_OR_RETURN(const std::vector<Job> jobs,
                        table_->List(EndedBefore(job_id), kPageOfJobs));
  return ordered_json{{"jobs", JobsToJson(jobs)}};
}

absl::StatusOr<ordered_json> StatusPage::OneJob(const std::string& job_id) {
  FGNN_ASSIGN_OR_RETURN(const JobVersion found, table_->Get(job_id));
  const Job& job = found.job;
  ordered_json json = {{"job", JobDetailsToJson(job)}};
  const std::string spec = job.spec == nullptr ? "" : ToYaml(*job.spec);
  const bool is_shown = !spec.empty() && spec.size() <= kLongestSpec;
  json["spec"] = is_shown ? ordered_json(spec) : ordered_json();
  const uint32_t done = job.progress.epochs_done;
  const uint32_t after = done > kMostEpochs ? done - kMostEpochs : 0;
  // The run's folder may be gone, or not be the service's to read.
  const absl::StatusOr<std::vector<std::string>> lines =
      ReadMetricsLines(job.run_dir, after, kMostMetricsBytes);
  if (!lines.ok()) {
    json["epochs_error"] = PrintableText(MessageOf(lines.status()));
  }
  json["epochs"] =
      CurvesOf(lines.ok() ? *lines : std::vector<std::string>(), kMostRows);
  return json;
}

absl::StatusOr<std::string> StatusPage::Page() {
  JobsNow now = table_->Now(kMostWaiting);
  FGNN_ASSIGN_OR_RETURN(const std::vector<Job> ended,
                        table_->List(EndedBefore(""), kMostEnded));
  std::vector<Job> jobs = std::move(now.running);
  jobs.insert(jobs.end(), now.waiting.begin(), now.waiting.end());
  jobs.insert(jobs.end(), ended.begin(), ended.end());
  return PageHtml(IndexHtml(), jobs);
}

}  // namespace fgnn
