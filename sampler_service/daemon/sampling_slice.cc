#include "sampler_service/daemon/sampling_slice.h"

#include <algorithm>

namespace fgnn {

SamplingSlice::SamplingSlice(Segment* segment, OwnerIndex owner,
                             uint32_t device, uint32_t num_threads)
    : table_(segment, owner),
      device_(device),
      num_threads_(std::max(num_threads, 1u)),
      parts_(static_cast<double>(segment->options().parts)) {}

SamplingSlice::~SamplingSlice() { Leave(); }

std::optional<SamplingSlice::Share> SamplingSlice::Join() {
  const MutexLock lock(&mutex_);
  if (ending_ || has_left_) return std::nullopt;
  SwitchSnapshot snapshot = table_.Snapshot(device_);
  if (made_ > 0) snapshot.last = DeviceWork::kSample;
  if (NextWork(snapshot) != DeviceWork::kSample) {
    ending_ = true;
    EndIfIdle();
    return std::nullopt;
  }
  if (!held_) {
    if (!table_.TryTakeSlice(device_, DeviceWork::kSample)) return std::nullopt;
    held_ = true;
    watch_.Restart();
  }
  ++under_way_;
  return Share(this);
}

void SamplingSlice::Leave() {
  const MutexLock lock(&mutex_);
  has_left_ = true;
  ending_ = true;
  EndIfIdle();
}

void SamplingSlice::End(bool made, bool yields) {
  const MutexLock lock(&mutex_);
  --under_way_;
  if (made) {
    ++made_;
    ++batches_;
    CountTime();
  }
  if (yields) {
    ending_ = true;
    yields_ = true;
  }
  EndIfIdle();
}

void SamplingSlice::EndIfIdle() {
  if (!ending_ || under_way_ > 0) return;
  ending_ = false;
  if (!held_) return;
  held_ = false;
  seconds_ = batches_ > 0 ? seconds_ + watch_.Seconds() : 0;
  // After a yield the slice ends as if the device had trained. So the device
  // samples again only when there is nothing to train. A device that shares
  // time samples again after one trained batch anyway.
  const bool trains_first =
      yields_ && table_.plan(device_) != DevicePlan::kTimeShare;
  const bool has_sampled = made_ > 0 || yields_;
  made_ = 0;
  yields_ = false;
  table_.EndSlice(device_, trains_first  ? DeviceWork::kTrain
                           : has_sampled ? DeviceWork::kSample
                                         : DeviceWork::kNothing);
}

// Adds the mean time of a task once there are as many batches as threads. The
// batches of the threads end at about the same time.
void SamplingSlice::CountTime() {
  if (batches_ < num_threads_) return;
  table_.AddSampleTime(device_,
                       (seconds_ + watch_.Restart()) / batches_ / parts_);
  seconds_ = 0;
  batches_ = 0;
}

}  // namespace fgnn
