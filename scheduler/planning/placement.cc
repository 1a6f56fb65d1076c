#include "scheduler/planning/placement.h"

#include <algorithm>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "shared/base/enum_words.h"

namespace fgnn {
namespace {

constexpr EnumWord<ExecutorRole> kRoles[] = {
    {ExecutorRole::kSampler, "sampler"},
    {ExecutorRole::kTrainer, "trainer"},
    {ExecutorRole::kExchange, "exchange"}};

ExecutorPlacement Place(ExecutorRole role, size_t number,
                        const Device& device) {
  return {absl::StrCat(std::string(NameOf(role)), ".", number), role, device};
}

}  // namespace

std::string_view NameOf(ExecutorRole role) { return WordIn(kRoles, role); }

absl::StatusOr<ExecutorRole> ParseRole(std::string_view word) {
  if (const auto role = ValueIn(kRoles, word)) return *role;
  return absl::InvalidArgumentError(
      absl::StrCat("role is '", std::string(word),
                   "', must be sampler, trainer or exchange"));
}

std::vector<ExecutorPlacement> PlaceExecutors(
    uint32_t samplers, uint32_t trainers, const std::vector<Device>& devices) {
  std::vector<Device> ring = DevicesThatOnlySample(devices);
  const size_t only_sample = ring.size();
  std::vector<Device> that_train;
  std::copy_if(devices.begin(), devices.end(), std::back_inserter(that_train),
               [&](const Device& device) {
                 return std::find(ring.begin(), ring.end(), device) ==
                        ring.end();
               });
  ring.insert(ring.end(), that_train.begin(), that_train.end());
  std::vector<ExecutorPlacement> placements;
  placements.reserve(samplers + trainers);
  for (uint32_t i = 0; i < samplers; ++i) {
    placements.push_back(
        Place(ExecutorRole::kSampler, i, ring[i % ring.size()]));
  }
  const size_t begin = samplers - std::min<size_t>(samplers, only_sample);
  for (uint32_t i = 0; i < trainers; ++i) {
    placements.push_back(Place(ExecutorRole::kTrainer, i,
                               that_train[(begin + i) % that_train.size()]));
  }
  return placements;
}

std::vector<ExecutorPlacement> ExecutorsOf(const JobSpec& spec) {
  if (!spec.takes_turns()) {
    return PlaceExecutors(spec.samplers, spec.trainers, spec.devices);
  }
  const std::vector<Device> cores = DevicesThatOnlySample(spec.devices);
  std::vector<ExecutorPlacement> samplers;
  std::vector<ExecutorPlacement> trainers;
  for (size_t i = 0; i < spec.devices.size(); ++i) {
    const Device& device = spec.devices[i];
    samplers.push_back(Place(ExecutorRole::kSampler, i, device));
    if (std::find(cores.begin(), cores.end(), device) == cores.end()) {
      trainers.push_back(Place(ExecutorRole::kTrainer, i, device));
    }
  }
  samplers.insert(samplers.end(), trainers.begin(), trainers.end());
  return samplers;
}

ExecutorPlacement ExchangeOn(const Device& device) {
  return Place(ExecutorRole::kExchange, 0, device);
}

Device FirstDeviceWith(ExecutorRole role,
                       const std::vector<ExecutorPlacement>& placements) {
  return std::find_if(placements.begin(), placements.end(),
                      [role](const ExecutorPlacement& placement) {
                        return placement.role == role;
                      })
      ->device;
}

std::vector<DeviceKind> KindsWith(
    ExecutorRole role, const std::vector<ExecutorPlacement>& placements) {
  std::vector<DeviceKind> kinds;
  for (const ExecutorPlacement& placement : placements) {
    if (placement.role != role) continue;
    const DeviceKind kind = placement.device.kind;
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
      kinds.push_back(kind);
    }
  }
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

std::vector<ExecutorPlacement> PairPerDevice(
    const std::vector<Device>& devices) {
  std::vector<ExecutorPlacement> placements;
  for (size_t i = 0; i < devices.size(); ++i) {
    placements.push_back(Place(ExecutorRole::kSampler, i, devices[i]));
    placements.push_back(Place(ExecutorRole::kTrainer, i, devices[i]));
  }
  return placements;
}

std::optional<uint32_t> NumberOf(std::string_view executor_name) {
  const size_t dot = executor_name.find('.');
  uint32_t number = 0;
  if (dot == std::string_view::npos ||
      !ParseRole(executor_name.substr(0, dot)).ok() ||
      !absl::SimpleAtoi(std::string(executor_name.substr(dot + 1)), &number)) {
    return std::nullopt;
  }
  return number;
}

}  // namespace fgnn
