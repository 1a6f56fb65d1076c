// A segment with devices, and the tables of the three processes that use it.
#ifndef FGNN_TESTS_UNIT_SHARED_QUEUE_DEVICE_TABLE_FIXTURE_H_
#define FGNN_TESTS_UNIT_SHARED_QUEUE_DEVICE_TABLE_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "shared/queue/device_table.h"
#include "tests/unit/shared/queue/segment_for_tests.h"

namespace fgnn {

inline constexpr OwnerIndex kSampler{1};
inline constexpr OwnerIndex kTrainer{2};

inline SegmentOptions WithDevices(uint32_t num_devices) {
  SegmentOptions options = SmallOptions();
  options.num_devices = num_devices;
  options.switching = 1;
  return options;
}

class DeviceTableTest : public testing::Test {
 protected:
  void UseSegment(const SegmentOptions& options) {
    segment_ = MakeSegment(options);
    scheduler_.emplace(segment_.get(), kNoOwner);
    sampler_.emplace(segment_.get(), kSampler);
    trainer_.emplace(segment_.get(), kTrainer);
  }
  void SetUp() override { UseSegment(WithDevices(3)); }

  DeviceWork LastOf(uint32_t device) {
    return scheduler_->Snapshot(device).last;
  }

  std::unique_ptr<Segment> segment_;
  std::optional<DeviceTable> scheduler_;
  std::optional<DeviceTable> sampler_;
  std::optional<DeviceTable> trainer_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SHARED_QUEUE_DEVICE_TABLE_FIXTURE_H_
