#include "trainer_service/daemon/training_slice.h"

#include <utility>

#include "shared/switching/switch_policy.h"

namespace fgnn {

TrainingSlice::TrainingSlice(Segment* segment, OwnerIndex owner,
                             uint32_t device)
    : table_(segment, owner), device_(device) {}

bool TrainingSlice::Take() {
  const Stopwatch since_look;
  held_ = table_.working(device_) == DeviceWork::kNothing &&
          NextWork(table_.Snapshot(device_)) == DeviceWork::kTrain &&
          table_.TryTakeSlice(device_, DeviceWork::kTrain);
  is_fresh_ = held_;
  since_wake_.reset();
  if (held_ && table_.plan(device_) == DevicePlan::kSample) {
    since_wake_ = since_look;
  }
  return held_;
}

bool TrainingSlice::GoesOn() {
  if (std::exchange(is_fresh_, false)) return true;
  SwitchSnapshot snapshot = table_.Snapshot(device_);
  if (trained_) snapshot.last = DeviceWork::kTrain;
  return snapshot.plan == DevicePlan::kTrain ||
         NextWork(snapshot) == DeviceWork::kTrain;
}

AheadLimit TrainingSlice::ahead() const {
  const uint32_t sharers = table_.NumTraining();
  switch (table_.plan(device_)) {
    case DevicePlan::kTrain:
      return {AheadLimit::kNextStep, sharers};
    case DevicePlan::kSample:
      return {AheadLimit::kOpenSteps, sharers};
    case DevicePlan::kTimeShare:  // The device trains one batch at a time.
    case DevicePlan::kLost:
    case DevicePlan::kOnlySample:  // The device has no trainer.
      break;
  }
  return {AheadLimit::kNothing, sharers};
}

void TrainingSlice::Fetched() {
  if (!since_wake_.has_value()) return;
  table_.AddWakeTime(device_, since_wake_->Seconds());
  since_wake_.reset();
}

void TrainingSlice::Trained(double seconds) {
  trained_ = true;
  table_.AddTrainTime(device_, seconds);
}

void TrainingSlice::End() {
  if (!std::exchange(held_, false)) return;
  table_.EndSlice(device_, std::exchange(trained_, false)
                               ? DeviceWork::kTrain
                               : DeviceWork::kNothing);
}

}  // namespace fgnn
