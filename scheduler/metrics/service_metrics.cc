#include "scheduler/metrics/service_metrics.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "scheduler/executors/job_devices.h"
#include "shared/base/json_text.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// Time for a daemon to answer. Prometheus waits for ten seconds.
constexpr std::chrono::milliseconds kDaemonPatience{3'000};

constexpr char kSchedulerPath[] = "/metrics";
constexpr char kDaemonPath[] = "/metrics/daemon";
constexpr char kTargetsPath[] = "/metrics/targets";

// Adds counters of one name that differ in one label.
void AddCounters(MetricPage& page, const char* name, const char* help,
                 const char* label,
                 const std::vector<std::pair<const char*, double>>& values) {
  for (const auto& [word, value] : values) {
    page.AddCounter(name, help, value, {{label, word}});
  }
}

std::string Word(std::string_view name) { return std::string(name); }

}  // namespace

HttpHandlers ServiceMetrics::Pages() {
  return {
      {kSchedulerPath, [this](const HttpRequest&) { return OfScheduler(); }},
      {kDaemonPath,
       [this](const HttpRequest& request) {
         const auto name = request.query.find("name");
         return OfDaemon(name == request.query.end() ? "" : name->second);
       }},
      {kTargetsPath,
       [this](const HttpRequest& request) { return Targets(request.host); }}};
}

HttpResponse ServiceMetrics::OfScheduler() const {
  MetricPage page;
  AddProcessMetrics(sources_.host->options().version, page);
  AddJobs(page);
  AddWork(page);
  AddQueue(page);
  AddDaemons(page);
  AddHosts(page);
  AddFaults(page);
  AddRefusals(page);
  return {.content_type = kMetricContentType, .body = page.Text()};
}

HttpResponse ServiceMetrics::OfDaemon(const std::string& name) const {
  const std::optional<DaemonAddress> daemon = sources_.host->AddressOf(name);
  if (!daemon.has_value()) return {.status = 404, .body = "no such daemon\n"};
  absl::StatusOr<std::string> text = sources_.calls->ReadMetrics(
      daemon->socket, {.timeout = kDaemonPatience, .keep_going = {}});
  if (text.ok()) {
    return {.content_type = kMetricContentType, .body = *std::move(text)};
  }
  return {.status = 503,
          .body = absl::StrCat(name, ": ", MessageOf(text.status()), "\n")};
}

HttpResponse ServiceMetrics::Targets(const std::string& host) const {
  const auto target = [&](const std::string& path, const std::string& role) {
    return nlohmann::ordered_json{
        {"targets", nlohmann::ordered_json::array({host})},
        {"labels",
         {{"__metrics_path__", path}, {"service", service_}, {"role", role}}}};
  };
  // Braces around one value are a list to gcc, and the value itself to clang.
  auto targets =
      nlohmann::ordered_json::array({target(kSchedulerPath, "scheduler")});
  for (const ExecutorView& daemon : sources_.host->Executors()) {
    if (daemon.pid == 0) continue;
    nlohmann::ordered_json own =
        target(kDaemonPath, Word(NameOf(daemon.placement.role)));
    own["labels"]["__param_name"] = daemon.placement.name;
    own["labels"]["daemon"] = daemon.placement.name;
    own["labels"]["device"] = daemon.placement.device.name;
    targets.push_back(std::move(own));
  }
  return {.content_type = "application/json", .body = JsonText(targets) + "\n"};
}

void ServiceMetrics::AddJobs(MetricPage& page) const {
  const JobTable::Counts counts = sources_.table->counts();
  const std::pair<const char*, uint32_t> states[] = {
      {"queued", counts.queued},
      {"paused", counts.paused},
      {"running", counts.running}};
  for (const auto& [state, number] : states) {
    page.AddGauge("fgnn_jobs", "Jobs that have not ended, by their state.",
                  number, {{"state", state}});
  }
  const std::pair<const char*, uint64_t> ends[] = {
      {"completed", counts.completed},
      {"failed", counts.failed},
      {"cancelled", counts.cancelled}};
  for (const auto& [state, number] : ends) {
    page.AddCounter("fgnn_jobs_ended_total",
                    "Jobs that ended since the scheduler started.",
                    static_cast<double>(number), {{"state", state}});
  }
}

void ServiceMetrics::AddWork(MetricPage& page) const {
  const RunTotals::Sums sums = sources_.totals->sums();
  const EpochSum& batches = sums.batches;
  const auto add = [&page](const char* name, const char* help, uint64_t value) {
    page.AddCounter(name, help, static_cast<double>(value));
  };
  add("fgnn_committed_epochs_total", "Epochs that ended.", sums.epochs);
  add("fgnn_committed_batches_total", "Batches whose step was made.",
      batches.batches());
  add("fgnn_committed_edges_total", "Edges of the committed batches.",
      batches.edges());
  add("fgnn_committed_input_nodes_total",
      "Input nodes of the committed batches.", batches.input_nodes());
  add("fgnn_committed_cache_hits_total",
      "Input nodes of the committed batches that were found in a cache.",
      batches.cache_hits());
  add("fgnn_committed_cache_misses_total",
      "Input nodes of the committed batches that were found in no cache.",
      batches.input_nodes() - batches.cache_hits());
  add("fgnn_committed_matched_rows_total",
      "Cache misses of the committed batches that were copied from the batch "
      "before.",
      batches.matched());
  add("fgnn_committed_remote_rows_total",
      "Rows of features of the committed batches that another host sent.",
      batches.rows_remote());
  add("fgnn_committed_message_bytes_total",
      "Bytes of the rows that parts of committed batches sent each other.",
      batches.message_bytes());
  add("fgnn_switches_total", "Wakes of standby trainers.", sums.switches);
  std::vector<std::pair<const char*, double>> seconds;
  for (const BatchStage& stage : BatchStages()) {
    seconds.emplace_back(stage.name, batches.stages().*stage.seconds);
  }
  AddCounters(
      page, "fgnn_committed_stage_seconds_total",
      "Seconds of the committed batches in each stage, over all daemons.",
      "stage", seconds);
}

void ServiceMetrics::AddQueue(MetricPage& page) const {
  const SlotCounts counts = sources_.host->QueueSlots();
  const std::pair<const char*, uint32_t> states[] = {
      {"free", counts.free},
      {"writing", counts.writing},
      {"ready", counts.ready},
      {"reading", counts.reading}};
  for (const auto& [state, number] : states) {
    page.AddGauge("fgnn_queue_slots",
                  "Slots of the running jobs' queues; ready ones wait for a "
                  "trainer.",
                  number, {{"state", state}});
  }
}

void ServiceMetrics::AddDaemons(MetricPage& page) const {
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, uint32_t> numbers;
  for (const ExecutorView& daemon : sources_.host->Executors()) {
    ++numbers[{Word(NameOf(daemon.placement.role)),
               daemon.placement.device.name, Word(NameOf(daemon.state))}];
  }
  for (const auto& [key, number] : numbers) {
    const auto& [role, device, state] = key;
    page.AddGauge("fgnn_daemons",
                  "Samplers, trainers and exchanges by role, device and state.",
                  number,
                  {{"role", role}, {"device", device}, {"state", state}});
  }
  std::map<std::string, std::pair<double, std::string>> devices;
  for (const Job& job : sources_.table->Now(/*most_waiting=*/0).running) {
    for (const DeviceView& device : job.progress.devices) {
      devices[device.device.name] = {device.busy, Word(WordOf(device.plan))};
    }
  }
  for (const auto& [device, state] : devices) {
    page.AddGauge("fgnn_device_busy_ratio",
                  "Share of the job's time in which the device worked, from 0 "
                  "to 1; only of devices that take turns.",
                  state.first, {{"device", device}});
  }
  for (const auto& [device, state] : devices) {
    page.AddGauge("fgnn_device_plan", "1, with what the device is planned as.",
                  1, {{"device", device}, {"plan", state.second}});
  }
}

void ServiceMetrics::AddHosts(MetricPage& page) const {
  if (sources_.members == nullptr) return;
  for (const MemberView& member : sources_.members->Views()) {
    page.AddGauge("fgnn_host_up",
                  "1 for a host that has joined; 0 while it is lost.",
                  member.is_lost ? 0 : 1, {{"host", member.facts.name}});
  }
  for (const HostPair& pair : sources_.members->pairs().All()) {
    page.AddGauge("fgnn_host_reached",
                  "1 if a host reached the other when a job began, 0 if not.",
                  pair.error.empty() ? 1 : 0,
                  {{"host", pair.from}, {"other", pair.to}});
  }
}

void ServiceMetrics::AddFaults(MetricPage& page) const {
  const HostFaults faults = sources_.host->faults();
  AddCounters(page, "fgnn_daemon_restarts_total",
              "Starts of daemons that had died.", "role",
              {{"sampler", static_cast<double>(faults.sampler_restarts)},
               {"trainer", static_cast<double>(faults.trainer_restarts)},
               {"exchange", static_cast<double>(faults.exchange_restarts)}});
  AddCounters(
      page, "fgnn_faults_total", "Faults that the scheduler found.", "kind",
      {{"daemon_died", static_cast<double>(faults.died)},
       {"daemon_hung", static_cast<double>(faults.hung)},
       {"device_lost", static_cast<double>(faults.devices_lost)},
       {"batch_quarantined", static_cast<double>(faults.quarantined)},
       {"checkpoint_failed",
        static_cast<double>(sources_.totals->sums().failed_checkpoints)}});
}

void ServiceMetrics::AddRefusals(MetricPage& page) const {
  for (size_t i = 0; i < kNumRefusalReasons; ++i) {
    const auto reason = static_cast<RefusalReason>(i);
    page.AddCounter("fgnn_port_refusals_total",
                    "Calls and connections that the TCP port refused.",
                    static_cast<double>(sources_.refusals->of(reason)),
                    {{"reason", Word(WordOf(reason))}});
  }
  if (sources_.refusals->expiry() == 0) return;
  page.AddGauge("fgnn_port_certificate_expiry_seconds",
                "Seconds since 1970 at which the port's certificate expires.",
                static_cast<double>(sources_.refusals->expiry()));
}

}  // namespace fgnn
