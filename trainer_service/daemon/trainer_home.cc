#include "trainer_service/daemon/trainer_home.h"

#include <algorithm>

#include "shared/device/device.h"
#include "shared/queue/device_table.h"

namespace fgnn {

TrainerHome::TrainerHome(Segment* segment, const JobSpec& spec, uint32_t device)
    : segment_(segment),
      device_(device),
      num_trainers_(std::max(spec.num_trainers(), 1U)) {
  if (segment->options().num_devices == 0) return;
  const std::vector<Device> samplers = DevicesThatOnlySample(spec.devices);
  for (const Device& one : spec.devices) {
    may_train_.push_back(std::find(samplers.begin(), samplers.end(), one) ==
                         samplers.end());
  }
}

TrainerHome::Place TrainerHome::PlaceNow() const {
  if (may_train_.empty()) return {device_, num_trainers_};
  const DeviceTable table(segment_, kNoOwner);
  Place of_all = {.count = 0};
  Place of_trainers = {.count = 0};
  bool trains = false;
  for (uint32_t i = 0; i < may_train_.size(); ++i) {
    if (!may_train_[i]) continue;
    if (i < device_) ++of_all.number;
    ++of_all.count;
    if (table.cached_as(i) == DevicePlan::kSample) continue;
    if (i < device_) ++of_trainers.number;
    if (i == device_) trains = true;
    ++of_trainers.count;
  }
  return trains ? of_trainers : of_all;
}

std::optional<uint32_t> TrainerHome::part() const {
  const auto parts = static_cast<uint32_t>(segment_->options().parts);
  if (parts == 1) return std::nullopt;
  return PlaceNow().number % parts;
}

HomeParts TrainerHome::parts() const {
  const SegmentOptions& options = segment_->options();
  const auto parts = static_cast<uint32_t>(options.parts);
  const Place place = PlaceNow();
  const uint32_t homes = std::clamp(place.count, 1U, parts);
  return {.book = options.book,
          .num_parts = parts,
          .num_homes = homes,
          .home = place.number % homes};
}

}  // namespace fgnn
