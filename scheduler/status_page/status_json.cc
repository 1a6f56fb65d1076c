#include "scheduler/status_page/status_json.h"

#include <cstddef>
#include <string>

#include "scheduler/store/progress_json.h"
#include "shared/base/json_text.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

using nlohmann::ordered_json;

constexpr size_t kLongestJsonText = 500;
constexpr size_t kMostListed = 64;  // Devices of a job, jobs before it.

std::string Text(std::string_view text) {
  return PrintableText(text, kLongestJsonText);
}

ordered_json Texts(const std::vector<std::string>& texts) {
  ordered_json json = ordered_json::array();
  for (const std::string& text : texts) {
    if (json.size() == kMostListed) break;
    json.push_back(Text(text));
  }
  return json;
}

ordered_json ShownProgress(const JobProgress& progress) {
  return {{"phase", Text(progress.phase)},
          {"epochs", progress.epochs},
          {"epochs_done", progress.epochs_done},
          {"batches_committed", progress.batches_committed},
          {"batches_expected", progress.batches_expected},
          {"loss", progress.loss},
          {"edges_per_second", progress.edges_per_second},
          {"seconds_left", progress.seconds_left},
          {"valid", ScoresToJson(progress.valid)},
          {"test", ScoresToJson(progress.test)},
          {"restarts", progress.restarts},
          {"warning", Text(progress.warning)},
          {"checkpoint_warning", Text(progress.checkpoint_warning)}};
}

}  // namespace

ordered_json JobToJson(const Job& job) {
  return {{"job_id", Text(job.id)},
          {"name", Text(job.options.name)},
          {"user", Text(job.user)},
          {"state", std::string(NameOf(job.state))},
          {"priority", job.options.priority},
          {"submitted_ms", job.submitted_ms},
          {"started_ms", job.started_ms},
          {"finished_ms", job.finished_ms},
          {"run_seconds", job.run_seconds},
          {"waiting_for", Text(job.waiting_for)},
          {"error_message", Text(MessageOf(job.error))},
          {"attempts", job.attempts},
          {"devices", Texts(NamesOf(job.devices))},
          {"progress", ShownProgress(job.progress)}};
}

ordered_json JobsToJson(const std::vector<Job>& jobs) {
  ordered_json json = ordered_json::array();
  for (const Job& job : jobs) json.push_back(JobToJson(job));
  return json;
}

ordered_json JobDetailsToJson(const Job& job) {
  ordered_json json = JobToJson(job);
  json["run_dir"] = Text(job.run_dir);
  json["dataset"] = Text(job.spec == nullptr ? "" : job.spec->dataset);
  json["parts"] = job.spec == nullptr ? 1 : job.spec->training.parts;
  json["after"] = Texts(job.after);
  json["retries"] = job.options.retries;
  json["time_limit_seconds"] = job.options.time_limit_seconds;
  json["preemptions"] = job.preemptions;
  return json;
}

ordered_json DevicesToJson(const std::vector<DeviceNow>& devices) {
  ordered_json json = ordered_json::array();
  for (const DeviceNow& device : devices) {
    json.push_back({{"name", device.name},
                    {"job_id", Text(device.job_id)},
                    {"plan", device.plan},
                    {"by_hand", device.by_hand},
                    {"works", device.works},
                    {"sample_ms", device.times.sample * 1e3},
                    {"train_ms", device.times.train * 1e3},
                    {"standby_ms", device.times.standby * 1e3},
                    {"sampled", device.sampled},
                    {"trained", device.trained},
                    {"wakes", device.wakes},
                    {"busy", device.busy}});
  }
  return json;
}

ordered_json ExecutorsToJson(const std::vector<ExecutorView>& executors) {
  ordered_json json = ordered_json::array();
  for (const ExecutorView& executor : executors) {
    json.push_back({{"name", executor.placement.name},
                    {"role", std::string(NameOf(executor.placement.role))},
                    {"device", executor.placement.device.name},
                    {"pid", executor.pid},
                    {"state", std::string(NameOf(executor.state))},
                    {"job_id", Text(executor.job_id)},
                    {"batches", executor.batches},
                    {"restarts", executor.restarts},
                    {"resident_bytes", executor.resident_bytes}});
  }
  return json;
}

ordered_json QueuesToJson(const std::vector<QueueNow>& queues) {
  ordered_json json = ordered_json::array();
  for (const QueueNow& queue : queues) {
    json.push_back({{"job_id", Text(queue.job_id)},
                    {"free", queue.counts.free},
                    {"writing", queue.counts.writing},
                    {"ready", queue.counts.ready},
                    {"reading", queue.counts.reading}});
  }
  return json;
}

ordered_json HostsToJson(const std::vector<MemberView>& members) {
  ordered_json json = ordered_json::array();
  for (const MemberView& member : members) {
    json.push_back({{"name", Text(member.facts.name)},
                    {"devices", Texts(NamesOf(member.facts.devices))},
                    {"exchange", Text(member.facts.exchange)},
                    {"state", member.has_left  ? "left"
                              : member.is_lost ? "silent"
                                               : "here"},
                    {"silent_seconds", member.silent_seconds},
                    {"job_id", Text(member.job_id)}});
  }
  return json;
}

ordered_json LinksToJson(const std::vector<HostPair>& links) {
  ordered_json json = ordered_json::array();
  for (const HostPair& pair : links) {
    json.push_back({{"from", Text(pair.from)},
                    {"to", Text(pair.to)},
                    {"error", Text(pair.error)},
                    {"round_trip_ms", pair.link.round_trip_seconds * 1e3},
                    {"bytes_per_second", pair.link.bytes_per_second},
                    {"clock_offset_ms", pair.link.clock_offset_seconds * 1e3}});
  }
  return json;
}

}  // namespace fgnn
