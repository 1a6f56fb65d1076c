#include "scheduler/host/book/executor_names.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"

namespace fgnn {
namespace {

std::string NameOn(ExecutorRole role, uint32_t number) {
  return absl::StrCat(std::string(NameOf(role)), ".", number);
}

// Returns the job's own executor of that role and number; nullptr: it has none.
const NamedExecutor* FindOwn(
    const JobExecutor& executor,
    const std::map<std::string, NamedExecutor>& there) {
  for (const auto& [name, found] : there) {
    if (found.number == executor.number &&
        found.placement.role == executor.placement.role &&
        found.placement.device == executor.placement.device) {
      return &found;
    }
  }
  return nullptr;
}

// Returns how many executors of one number find their own executor, or a free
// one, under the names with this number. Returns -1 if another job, or a device
// that is not the job's, has one of the names.
int CountReady(uint32_t number, const std::vector<JobExecutor*>& executors,
               const std::map<std::string, NamedExecutor>& there) {
  int ready = 0;
  for (const JobExecutor* executor : executors) {
    const ExecutorPlacement& wanted = executor->placement;
    const auto found = there.find(NameOn(wanted.role, number));
    if (found == there.end()) continue;
    const NamedExecutor& other = found->second;
    const bool is_ready =
        FindOwn(*executor, there) == &other ||
        (other.is_free && other.placement.device == wanted.device);
    if (!is_ready && !other.gives_way) return -1;
    if (is_ready) ++ready;
  }
  return ready;
}

}  // namespace

bool AnyShares(const std::vector<Device>& devices, const Device& other) {
  return std::any_of(devices.begin(), devices.end(), [&](const Device& device) {
    return ShareResources(device, other);
  });
}

std::vector<JobExecutor> NameExecutors(
    const std::vector<ExecutorPlacement>& job,
    const std::map<std::string, NamedExecutor>& there) {
  std::vector<JobExecutor> named;
  named.reserve(job.size());
  std::map<uint32_t, std::vector<JobExecutor*>> by_number;
  for (const ExecutorPlacement& placement : job) {
    const uint32_t number = NumberOf(placement.name).value_or(0);
    named.push_back({placement, number});
    by_number[number].push_back(&named.back());
  }
  std::set<uint32_t> used;
  for (auto& [number, executors] : by_number) {
    uint32_t best = 0;
    int most_ready = -1;
    // Each name on the host and each number in use rules out at most one
    // number.
    const size_t enough = there.size() + used.size();
    for (uint32_t n = 0; n <= enough; ++n) {
      const int ready = used.contains(n) ? -1 : CountReady(n, executors, there);
      if (ready <= most_ready) continue;
      best = n;
      most_ready = ready;
    }
    used.insert(best);
    for (JobExecutor* executor : executors) {
      const NamedExecutor* const own = FindOwn(*executor, there);
      executor->placement.name = own != nullptr
                                     ? own->placement.name
                                     : NameOn(executor->placement.role, best);
    }
  }
  return named;
}

}  // namespace fgnn
