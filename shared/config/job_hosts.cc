#include "shared/config/job_hosts.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace fgnn {
namespace {

// Returns the hosts without their places.
std::vector<HostShare> CountDevicesOfHosts(const JobSpec& spec) {
  std::vector<HostShare> hosts;
  const std::vector<Device> only_sample = DevicesThatOnlySample(spec.devices);
  for (const Device& device : spec.devices) {
    auto host = std::find_if(
        hosts.begin(), hosts.end(),
        [&](const HostShare& one) { return one.name == device.host; });
    if (host == hosts.end()) host = hosts.insert(host, {.name = device.host});
    const bool trains = std::find(only_sample.begin(), only_sample.end(),
                                  device) == only_sample.end();
    host->num_training += trains ? 1 : 0;
  }
  std::stable_partition(hosts.begin(), hosts.end(), [](const HostShare& host) {
    return host.name.empty();
  });
  return hosts;
}

}  // namespace

std::vector<HostShare> HostSharesOf(const JobSpec& spec) {
  std::vector<HostShare> hosts = CountDevicesOfHosts(spec);
  uint64_t all = 0;
  for (const HostShare& host : hosts) all += host.num_training;
  const uint64_t places = spec.training.batches_per_step;
  std::vector<uint32_t> given;
  if (spec.hosts.are_shares_given()) given = spec.hosts.shares;
  uint64_t before = 0;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const uint64_t end = before + hosts[i].num_training;
    const uint64_t in_proportion =
        all == 0 ? 0 : places * end / all - places * before / all;
    hosts[i].num_places = i < given.size() ? given[i] : in_proportion;
    before = end;
  }
  return hosts;
}

JobSpec OnHost(JobSpec spec, const std::string& host) {
  std::vector<Device> own;
  for (Device& device : spec.devices) {
    if (device.host == host) own.push_back(OnItsHost(std::move(device)));
  }
  spec.devices = std::move(own);
  spec.hosts.shares.clear();  // They are of all hosts.
  return spec;
}

}  // namespace fgnn
