// Which executors a job needs, and where each of them runs.
#ifndef FGNN_SCHEDULER_PLANNING_PLACEMENT_H_
#define FGNN_SCHEDULER_PLANNING_PLACEMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace fgnn {

enum class ExecutorRole : uint8_t { kSampler, kTrainer };

std::string_view NameOf(ExecutorRole role);  // "sampler", "trainer".
// InvalidArgument for any other word.
absl::StatusOr<ExecutorRole> ParseRole(std::string_view word);

struct ExecutorPlacement {
  std::string name;  // "sampler.0"; see host/executor_names.h.
  ExecutorRole role = ExecutorRole::kSampler;
  std::string device;  // "cpu:0-1"
  friend bool operator==(const ExecutorPlacement&,
                         const ExecutorPlacement&) = default;
};

// As if the job were alone: samplers sampler.0, sampler.1, … go to the devices
// in turn; then trainers, which go on where the samplers stopped, so that with
// several devices each has one role before any has two. Pure. `devices` is not
// empty.
std::vector<ExecutorPlacement> PlaceExecutors(
    uint32_t samplers, uint32_t trainers,
    const std::vector<std::string>& devices);

// A sampler and a trainer for every device: what a service keeps ready.
std::vector<ExecutorPlacement> PairPerDevice(
    const std::vector<std::string>& devices);

// 3 of "sampler.3". Of PlaceExecutors() that is its number in the job, where
// devices take turns that of its device; of a daemon it is that of its name
// alone. nullopt: no name that is given here.
std::optional<uint32_t> NumberOf(std::string_view executor_name);

// "cpu:0-1,cpu:2" as two names, "cpu:0,2-3" as one: a piece without a colon
// goes on the list of cores before it.
std::vector<std::string> SplitDeviceList(std::string_view text);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_PLACEMENT_H_
