#include "shared/config/rules/host_rules.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/status.h"
#include "shared/config/job_hosts.h"
#include "shared/config/rules/model_rules.h"

namespace fgnn {
namespace {

absl::Status CheckShares(const JobSpec& spec, size_t num_hosts) {
  if (num_hosts > kMostHosts) {
    return absl::InvalidArgumentError(
        absl::StrCat("devices names ", num_hosts, " hosts, at most ",
                     kMostHosts, " are allowed; leave some out"));
  }
  const std::vector<uint32_t>& shares = spec.hosts.shares;
  const uint64_t places = spec.training.batches_per_step;
  if (!spec.hosts.are_shares_given()) {
    if (places >= num_hosts) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("training.batches_per_step is ", places,
                     ", but the job has ", num_hosts,
                     " hosts; give each a batch, or say which have none with "
                     "hosts.shares"));
  }
  if (shares.size() != num_hosts) {
    return absl::InvalidArgumentError(absl::StrCat(
        "hosts.shares has ", shares.size(), " numbers, but the job has ",
        num_hosts, num_hosts == 1 ? " host" : " hosts",
        "; give one for each host of devices"));
  }
  const uint64_t sum =
      std::accumulate(shares.begin(), shares.end(), uint64_t{0});
  if (sum == places) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "hosts.shares is [", absl::StrJoin(shares, ", "), "], which sums to ",
      sum, ", but training.batches_per_step is ", places,
      "; change one of them"));
}

// Checks the numbers of hosts. Hosts that devices do not name may join later.
absl::Status CheckNumbers(const JobSpec& spec, size_t num_hosts) {
  const HostsSpec& hosts = spec.hosts;
  if (hosts.max > 0 && hosts.min > hosts.max) {
    return absl::InvalidArgumentError(
        absl::StrCat("hosts.min is ", hosts.min, ", but hosts.max is ",
                     hosts.max, "; give at most as many"));
  }
  const uint64_t places = spec.training.batches_per_step;
  if (hosts.max > 1 && hosts.min > places) {
    return absl::InvalidArgumentError(
        absl::StrCat("hosts.min is ", hosts.min,
                     ", but training.batches_per_step is ", places,
                     ", so that some hosts would have no batch of a step; set "
                     "training.batches_per_step"));
  }
  if (hosts.max == 0 && hosts.min > num_hosts) {
    return absl::InvalidArgumentError(absl::StrCat(
        "hosts.min is ", hosts.min, ", but the job has ", num_hosts,
        num_hosts == 1 ? " host" : " hosts",
        "; name devices of more, or give hosts.max and leave devices out"));
  }
  const bool may_change =
      hosts.max > 0 || (hosts.min > 0 && hosts.min < num_hosts);
  if (may_change && hosts.are_shares_given()) {
    return absl::InvalidArgumentError(
        "hosts.shares gives each host its batches, but with hosts.min or "
        "hosts.max the hosts may change; leave hosts.shares out, or set it to "
        "auto");
  }
  if (spec.device_request.has_value() && hosts.min > spec.device_request->max) {
    return absl::InvalidArgumentError(absl::StrCat(
        "hosts.min is ", hosts.min, ", but devices asks for at most ",
        spec.device_request->max,
        ", so that some hosts would have none; ask for more, or lower it"));
  }
  return absl::OkStatus();
}

// Seeds of a host's own: a batch is of its place in the job's order, and of its
// host's train vertices.
absl::Status CheckOwnSeeds(const JobSpec& spec) {
  if (!spec.training.has_own_seeds()) return absl::OkStatus();
  if (spec.training.predicts_links()) {
    return absl::InvalidArgumentError(
        "training.seeds is own, but training.task is link_prediction, whose "
        "batches hold edges; use global");
  }
  if (spec.sampling.order == "matched") {
    return absl::InvalidArgumentError(
        "training.seeds is own, but sampling.order is matched, which gives "
        "batches other places; use drawn");
  }
  if (spec.cache.policy == "online") {
    return absl::InvalidArgumentError(
        "training.seeds is own, but cache.policy is online, which ranks by all "
        "hosts' batches; use presc");
  }
  return absl::OkStatus();
}

// Returns an error for a field that works on one host alone.
absl::Status NotOver(size_t num_hosts, const std::string& what,
                     const std::string& instead) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, ", but the job has ", num_hosts, " hosts; ", instead));
}

}  // namespace

absl::Status CheckHosts(const JobSpec& spec) {
  FGNN_RETURN_IF_ERROR(CheckOwnSeeds(spec));
  const std::vector<HostShare> hosts = HostSharesOf(spec);
  FGNN_RETURN_IF_ERROR(CheckNumbers(spec, std::max<size_t>(hosts.size(), 1)));
  // Hosts of a job that names none may join later.
  const size_t num_hosts = std::max<size_t>(hosts.size(), spec.hosts.max);
  if (num_hosts <= 1 && !spec.hosts.are_shares_given()) {
    const bool is_far =
        !spec.devices.empty() && !spec.devices.front().host.empty();
    if (!is_far) return absl::OkStatus();
  }
  FGNN_RETURN_IF_ERROR(CheckShares(spec, hosts.size()));
  // Devices by number are chosen at each start.
  const bool is_here =
      spec.devices.empty() ||
      std::any_of(spec.devices.begin(), spec.devices.end(),
                  [](const Device& device) { return device.host.empty(); });
  if (!is_here) {
    return absl::InvalidArgumentError(
        "devices names other hosts alone, but the service's own host evaluates "
        "and writes checkpoints; add one of its devices, e.g. cpu:0");
  }
  if (num_hosts <= 1) return absl::OkStatus();
  for (const HostShare& host : hosts) {
    if (host.num_training > 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "devices: host ", host.name.empty() ? "of the service" : host.name,
        " has no device that trains beside the other hosts' GPUs, but every "
        "host makes each step; name a GPU of it, or leave it out"));
  }
  if (spec.training.sync != "steps") {
    return NotOver(num_hosts,
                   absl::StrCat("training.sync is ", spec.training.sync),
                   "use steps");
  }
  if (spec.sampling.order == "matched") {
    return NotOver(num_hosts, "sampling.order is matched", "use drawn");
  }
  if (IsUsersKind(spec.model.kind)) {
    return NotOver(num_hosts, absl::StrCat("model.kind is ", spec.model.kind),
                   "use a kind of ours, or devices of one host");
  }
  if (spec.executors == "factored" && spec.samplers > 0) {
    return NotOver(num_hosts, absl::StrCat("samplers is ", spec.samplers),
                   "leave it out: each host plans its own");
  }
  return absl::OkStatus();
}

}  // namespace fgnn
