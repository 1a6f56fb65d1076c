#include "scheduler/times/host_speed.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shared/device/device.h"

namespace fgnn {
namespace {

bool IsKnown(double speed) { return std::isfinite(speed) && speed > 0; }

}  // namespace

double BatchesPerSecond(const JobSpec& spec, const TimesByKind& profiled) {
  MeasuredTimes times;
  FillIn(spec, profiled, &times);
  // Batches a second that devices sample and train which do nothing else, and
  // those that the devices with both kinds of work could, by one kind alone.
  double only_sampled = 0;
  double only_trained = 0;
  double both_sampled = 0;
  double both_trained = 0;
  for (const DeviceTimes& device : times.devices) {
    const bool samples = device.sample > 0;
    const bool trains = device.train > 0;
    if (samples) (trains ? both_sampled : only_sampled) += 1 / device.sample;
    if (trains) (samples ? both_trained : only_trained) += 1 / device.train;
  }
  if (both_sampled == 0) return std::min(only_sampled, only_trained);
  // All do both kinds of work, as much of each as the others leave.
  const double speed =
      (1 + only_sampled / both_sampled + only_trained / both_trained) /
      (1 / both_sampled + 1 / both_trained);
  if (speed >= std::max(only_sampled, only_trained)) return speed;
  return std::min(only_sampled + both_sampled, only_trained + both_trained);
}

void ShareBySpeed(uint64_t places, std::vector<HostShare>& hosts) {
  const bool is_known = std::all_of(
      hosts.begin(), hosts.end(),
      [](const HostShare& host) { return IsKnown(host.batches_per_second); });
  // Returns the seconds that one place more would take the host, after those of
  // a host without any.
  const auto seconds_with_one_more = [is_known](const HostShare& host) {
    const double speed = is_known ? host.batches_per_second
                                  : static_cast<double>(host.num_training);
    return std::make_pair(host.num_places > 0,
                          static_cast<double>(host.num_places + 1) / speed);
  };
  for (HostShare& host : hosts) host.num_places = 0;
  for (uint64_t place = 0; place < places && !hosts.empty(); ++place) {
    const auto next = std::min_element(
        hosts.begin(), hosts.end(),
        [&](const HostShare& a, const HostShare& b) {
          return seconds_with_one_more(a) < seconds_with_one_more(b);
        });
    ++next->num_places;
  }
}

}  // namespace fgnn
