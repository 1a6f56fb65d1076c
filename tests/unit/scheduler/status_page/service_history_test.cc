#include "scheduler/status_page/service_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace fgnn {
namespace {

using nlohmann::ordered_json;

DeviceNow NowOf(const std::string& job_id, uint64_t sampled, uint64_t trained) {
  DeviceNow device = {.name = "cpu:0", .job_id = job_id};
  device.plan = job_id.empty() ? "" : "trainer";
  device.sampled = sampled;
  device.trained = trained;
  return device;
}

TEST(ServiceHistoryTest, CountsTheBatchesBetweenTwoMoments) {
  ServiceHistory history(/*most_moments=*/10, /*most_devices=*/4);
  history.Add(1'000, {NowOf("", 0, 0)}, {});
  history.Add(2'000, {NowOf("a", 3, 1)}, {});  // A job that it knew nothing of.
  history.Add(3'000, {NowOf("a", 8, 5)}, {});
  history.Add(4'000, {NowOf("a", 2, 6)}, {});  // A daemon began anew.
  history.Add(5'000, {NowOf("b", 9, 9)}, {});
  const ordered_json json = history.ToJson();
  EXPECT_EQ(json["times_ms"], ordered_json({1000, 2000, 3000, 4000, 5000}));
  const ordered_json& device = json["devices"][0];
  EXPECT_EQ(device["device"], "cpu:0");
  EXPECT_EQ(device["sampled"], ordered_json({0, 0, 5, 2, 0}));
  EXPECT_EQ(device["trained"], ordered_json({0, 0, 4, 1, 0}));
  EXPECT_EQ(device["plan"],
            ordered_json::parse(R"([["", 1], ["trainer", 4]])"));
  EXPECT_EQ(device["job_id"],
            ordered_json::parse(R"([["", 1], ["a", 3], ["b", 1]])"));
}

TEST(ServiceHistoryTest, QueuesHaveNoFillWhileTheyAreNotThere) {
  ServiceHistory history(10, 4);
  history.Add(1'000, {}, {});
  history.Add(2'000, {},
              {{"a", {.free = 1, .writing = 2, .ready = 3, .reading = 4}}});
  const ordered_json queue = history.ToJson()["queues"][0];
  EXPECT_EQ(queue["job_id"], "a");
  EXPECT_EQ(queue["slots"], 10);
  EXPECT_EQ(queue["ready"], ordered_json({nullptr, 3}));
}

TEST(ServiceHistoryTest, ForgetsOldMomentsAndFurtherDevices) {
  ServiceHistory history(/*most_moments=*/2, /*most_devices=*/1);
  DeviceNow other = NowOf("a", 0, 0);
  other.name = "cpu:1";
  for (int i = 1; i <= 5; ++i) {
    history.Add(i, {NowOf("a", 0, 0), other}, {});
  }
  const ordered_json json = history.ToJson();
  EXPECT_EQ(json["times_ms"], ordered_json({4, 5}));
  EXPECT_EQ(json["devices"].size(), 1U);
}

}  // namespace
}  // namespace fgnn
