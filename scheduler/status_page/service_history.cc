#include "scheduler/status_page/service_history.h"

#include <set>

#include "shared/base/printable_text.h"

namespace fgnn {
namespace {

using nlohmann::ordered_json;

// Adds a word to runs of equal words.
void AddWord(const std::string& word, ordered_json& runs) {
  if (!runs.empty() && runs.back()[0] == word) {
    runs.back()[1] = runs.back()[1].get<uint64_t>() + 1;
  } else {
    runs.push_back({word, 1});
  }
}

// Returns how many of `now` batches are new. Counts of another job, or of
// daemons that were started again, begin anew.
uint64_t NewOf(uint64_t now, uint64_t before) {
  return now >= before ? now - before : now;
}

}  // namespace

void ServiceHistory::Add(int64_t time_ms, const std::vector<DeviceNow>& devices,
                         const std::vector<QueueNow>& queues) {
  Moment moment = {.time_ms = time_ms, .devices = {}, .queues = {}};
  std::map<std::string, DeviceNow> now;
  for (const DeviceNow& device : devices) {
    if (moment.devices.size() == most_devices_) break;
    DeviceMoment& there = moment.devices[device.name];
    there.plan = device.plan;
    there.job_id = PrintableText(device.job_id);
    const auto before = before_.find(device.name);
    const bool goes_on = before != before_.end() &&
                         before->second.job_id == device.job_id &&
                         before->second.plan.empty() == device.plan.empty();
    if (goes_on) {
      there.sampled = NewOf(device.sampled, before->second.sampled);
      there.trained = NewOf(device.trained, before->second.trained);
    }
    now.emplace(device.name, device);
  }
  for (const QueueNow& queue : queues) {
    moment.queues[PrintableText(queue.job_id)] = queue.counts;
  }
  before_ = std::move(now);
  moments_.push_back(std::move(moment));
  if (moments_.size() > most_moments_) moments_.pop_front();
}

ordered_json ServiceHistory::ToJson() const {
  std::set<std::string> names;
  std::set<std::string> jobs;
  ordered_json times = ordered_json::array();
  for (const Moment& moment : moments_) {
    times.push_back(moment.time_ms);
    for (const auto& [name, device] : moment.devices) names.insert(name);
    for (const auto& [job_id, counts] : moment.queues) jobs.insert(job_id);
  }
  ordered_json devices = ordered_json::array();
  for (const std::string& name : names) {
    ordered_json json = {{"device", name},
                         {"plan", ordered_json::array()},
                         {"job_id", ordered_json::array()},
                         {"sampled", ordered_json::array()},
                         {"trained", ordered_json::array()}};
    for (const Moment& moment : moments_) {
      const auto found = moment.devices.find(name);
      const DeviceMoment device =
          found == moment.devices.end() ? DeviceMoment() : found->second;
      AddWord(device.plan, json["plan"]);
      AddWord(device.job_id, json["job_id"]);
      json["sampled"].push_back(device.sampled);
      json["trained"].push_back(device.trained);
    }
    devices.push_back(std::move(json));
  }
  ordered_json queues = ordered_json::array();
  for (const std::string& job_id : jobs) {
    ordered_json ready = ordered_json::array();
    uint32_t slots = 0;
    for (const Moment& moment : moments_) {
      const auto found = moment.queues.find(job_id);
      if (found == moment.queues.end()) {
        ready.push_back(nullptr);
        continue;
      }
      const SlotCounts& counts = found->second;
      ready.push_back(counts.ready);
      slots = counts.free + counts.writing + counts.ready + counts.reading;
    }
    queues.push_back(
        {{"job_id", job_id}, {"slots", slots}, {"ready", std::move(ready)}});
  }
  return {{"times_ms", std::move(times)},
          {"devices", std::move(devices)},
          {"queues", std::move(queues)}};
}

}  // namespace fgnn
