#include "trainer_service/daemon/trainer_home.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shared/queue/device_table.h"
#include "shared/queue/message_board.h"
#include "tests/fakes/default_job.h"
#include "tests/fakes/devices.h"

namespace fgnn {
namespace {

// A job of two parts whose devices take turns.
class TrainerHomeTest : public testing::Test {
 protected:
  void SetDevices(const std::vector<std::string>& names) {
    spec_.executors = "factored";
    spec_.devices = Devs(names);
    options_.num_devices = static_cast<uint32_t>(names.size());
  }
  void Open(const std::vector<DevicePlan>& cached_as = {}) {
    options_.job_key = 7;
    options_.num_slots = 4;
    options_.slot_bytes = 4096;
    options_.batches_per_epoch = 4;
    options_.epochs = 1;
    options_.num_parameters = 1;
    options_.parts = 2;
    options_.num_messages = NumMessages(2, /*shares_inputs=*/true);
    options_.message_bytes = 4096;
    segment_ = Segment::Create(options_).value();
    CacheAs(cached_as);
  }
  void CacheAs(const std::vector<DevicePlan>& cached_as) {
    DeviceTable table(segment_.get(), kNoOwner);
    for (uint32_t i = 0; i < cached_as.size(); ++i) {
      table.SetCachedAs(i, cached_as[i]);
    }
  }
  TrainerHome Of(uint32_t device) const {
    return TrainerHome(segment_.get(), spec_, device);
  }
  // Home, and number of homes.
  static std::pair<uint32_t, uint32_t> HomesOf(const TrainerHome& trainer) {
    const HomeParts parts = trainer.parts();
    EXPECT_EQ(parts.num_parts, 2U);
    EXPECT_EQ(*trainer.part() % parts.num_homes, parts.home);
    return {parts.home, parts.num_homes};
  }

  JobSpec spec_ = DefaultJob();
  SegmentOptions options_;
  std::unique_ptr<Segment> segment_;
};

using Homes = std::pair<uint32_t, uint32_t>;
using enum DevicePlan;

TEST_F(TrainerHomeTest, TrainersThatWorkTogetherShareThePartsByNumber) {
  spec_.executors = "together";
  spec_.trainers = 2;
  Open();
  EXPECT_EQ(HomesOf(Of(0)), Homes(0, 2));
  EXPECT_EQ(HomesOf(Of(1)), Homes(1, 2));
  spec_.trainers = 1;
  EXPECT_EQ(HomesOf(Of(0)), Homes(0, 1));
  options_.num_messages = 0;
  options_.message_bytes = 0;
  options_.parts = 1;
  segment_ = Segment::Create(options_).value();
  EXPECT_EQ(Of(0).part(), std::nullopt);
}

// Cores beside GPUs have no trainer.
TEST_F(TrainerHomeTest, DevicesThatOnlySampleHaveNoHome) {
  SetDevices({"cuda:0", "cpu:0", "cuda:1"});
  Open({kTrain, kOnlySample, kTrain});
  EXPECT_EQ(HomesOf(Of(0)), Homes(0, 2));
  EXPECT_EQ(HomesOf(Of(2)), Homes(1, 2));
}

TEST_F(TrainerHomeTest, ThePartsAreOfTheDevicesThatTrain) {
  SetDevices({"cuda:0", "cuda:1", "cuda:2", "cuda:3"});
  Open({kSample, kTrain, kSample, kTrain});
  EXPECT_EQ(HomesOf(Of(1)), Homes(0, 2));
  EXPECT_EQ(HomesOf(Of(3)), Homes(1, 2));
  // Standby trainers are beside them.
  EXPECT_EQ(HomesOf(Of(2)), Homes(0, 2));
  const TrainerHome last = Of(3);
  CacheAs({kSample, kSample, kSample, kTrain});
  EXPECT_EQ(HomesOf(last), Homes(0, 1));
  CacheAs({kTrain, kTrain, kTrain, kTrain});
  EXPECT_EQ(HomesOf(last), Homes(1, 2));
}

}  // namespace
}  // namespace fgnn
