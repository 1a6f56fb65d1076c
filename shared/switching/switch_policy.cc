#include "shared/switching/switch_policy.h"

#include <algorithm>
#include <limits>

namespace fgnn {
namespace {

DeviceWork TrainIfAny(const SwitchSnapshot& snapshot) {
  return snapshot.trainable_batches > 0 ? DeviceWork::kTrain
                                        : DeviceWork::kNothing;
}

}  // namespace

// A device samples until no batch is left or the queue is full. After it has
// trained, it samples again once half of the queue is free or trainers are
// about to run out of tasks. Caches and threads then do not change hands at
// every batch. It also samples if all trainers wait for a batch that was
// sampled and then lost. A device that is alone trains until nothing is left to
// train.
bool IsSamplingDue(const SwitchSnapshot& snapshot) {
  if (snapshot.free_batches == 0) return false;
  if (snapshot.last != DeviceWork::kTrain) return true;
  if (snapshot.num_trainers == 0) return snapshot.trainable_batches == 0;
  return snapshot.free_batches >= std::max(1u, snapshot.num_slots / 2) ||
         snapshot.queued_batches <= snapshot.num_trainers ||
         (snapshot.missing_batches > 0 && snapshot.trainable_batches == 0);
}

double SwitchProfit(const SwitchSnapshot& snapshot) {
  if (snapshot.num_trainers == 0) {
    return std::numeric_limits<double>::infinity();
  }
  const double standby_seconds = snapshot.standby_seconds > 0
                                     ? snapshot.standby_seconds
                                     : snapshot.train_seconds;
  return static_cast<double>(snapshot.batches_left) * snapshot.train_seconds /
             snapshot.num_trainers -
         standby_seconds;
}

DeviceWork NextWork(const SwitchSnapshot& snapshot) {
  switch (snapshot.plan) {
    case DevicePlan::kTrain:
      return TrainIfAny(snapshot);
    case DevicePlan::kTimeShare: {
      const bool trains_first = snapshot.last == DeviceWork::kSample;
      if (trains_first && snapshot.trainable_batches > 0) {
        return DeviceWork::kTrain;
      }
      return snapshot.free_batches > 0 ? DeviceWork::kSample
                                       : TrainIfAny(snapshot);
    }
    case DevicePlan::kOnlySample:
      return snapshot.free_batches > 0 ? DeviceWork::kSample
                                       : DeviceWork::kNothing;
    case DevicePlan::kLost:
      return DeviceWork::kNothing;
    case DevicePlan::kSample:
      break;
  }
  if (IsSamplingDue(snapshot)) return DeviceWork::kSample;
  if (snapshot.switching && SwitchProfit(snapshot) > 0) {
    return TrainIfAny(snapshot);
  }
  // Training does not pay any more in this epoch: the device samples for the
  // next.
  return snapshot.free_batches > 0 ? DeviceWork::kSample : DeviceWork::kNothing;
}

}  // namespace fgnn
