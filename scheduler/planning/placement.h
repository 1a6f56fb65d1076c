// The executors that a job needs, and the device of each.
#ifndef FGNN_SCHEDULER_PLANNING_PLACEMENT_H_
#define FGNN_SCHEDULER_PLANNING_PLACEMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/config/job_spec.h"
#include "shared/device/device.h"

namespace fgnn {

// An exchange trades gradients with those of other hosts.
enum class ExecutorRole : uint8_t { kSampler, kTrainer, kExchange };

// Returns "sampler", "trainer" or "exchange".
std::string_view NameOf(ExecutorRole role);
// Returns the role by its word. InvalidArgument: any other word.
absl::StatusOr<ExecutorRole> ParseRole(std::string_view word);

struct ExecutorPlacement {
  std::string name;  // Name such as "sampler.0"; see host/executor_names.h.
  ExecutorRole role = ExecutorRole::kSampler;
  Device device;
  friend bool operator==(const ExecutorPlacement&,
                         const ExecutorPlacement&) = default;
};

// Places a job's executors as if the job were alone. Samplers sampler.0,
// sampler.1, … go round the devices; those that only sample come first.
// Trainers go on where the samplers stopped, round the others, so that each
// device has one role before any has two. Pure. There is a device that trains.
std::vector<ExecutorPlacement> PlaceExecutors(
    uint32_t samplers, uint32_t trainers, const std::vector<Device>& devices);

// Returns the executors of a job with an effective spec, as if the job were
// alone: all samplers, then all trainers. Where devices take turns, those of
// device i have the number i, and cores beside a GPU have no trainer. Otherwise
// they are placed by PlaceExecutors().
std::vector<ExecutorPlacement> ExecutorsOf(const JobSpec& spec);

// Returns the exchange of a job over several hosts. It runs on the host's cores
// beside the job's other executors, and has one of their devices.
ExecutorPlacement ExchangeOn(const Device& device);

// Returns the device of the first executor of the role, of which there is one.
Device FirstDeviceWith(ExecutorRole role,
                       const std::vector<ExecutorPlacement>& placements);

// Returns the kinds of devices that have executors of the role, cores first.
std::vector<DeviceKind> KindsWith(
    ExecutorRole role, const std::vector<ExecutorPlacement>& placements);

// Returns a sampler and a trainer for every device, which a service keeps
// ready.
std::vector<ExecutorPlacement> PairPerDevice(
    const std::vector<Device>& devices);

// Returns 3 for "sampler.3". For a name by PlaceExecutors() that is the
// executor's number in the job; where devices take turns, the number of its
// device. For a daemon it is only the number in its name. nullopt: the name
// does not have this form.
std::optional<uint32_t> NumberOf(std::string_view executor_name);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_PLACEMENT_H_
