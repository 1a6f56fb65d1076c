#include "scheduler/times/device_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "tests/fakes/default_job.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

class DeviceTimesTest : public testing::Test {
 protected:
  DeviceTimesTest() {
    spec_.dataset = temp_.path().string();
    spec_.devices = Devs({"cpu:0", "cpu:1", "cpu:2", "cpu:3"});
  }
  DeviceTimesFile File() const { return {spec_, temp_ / "state"}; }

  const TempFolder temp_;
  JobSpec spec_ = DefaultJob();
};

TEST_F(DeviceTimesTest, WhatAKilledSchedulerLeftGoesWithTheNextTimes) {
  spec_.devices = Devs({"cpu:0"});
  const DeviceTimesFile file = File();
  const MeasuredTimes times = {.devices = {{.sample = 1, .train = 2}}};
  FGNN_ASSERT_OK(file.Write(times));
  const fs::path path = *fs::directory_iterator(temp_ / "derived");
  const fs::path torn = path.string() + ".tmp-AbCdEf";
  const fs::path young = path.string() + ".tmp-GhIjKl";
  const fs::path order = temp_ / "derived/order.bin.tmp-AbCdEf";
  const fs::path users = temp_ / "derived/order.bin.backup";
  for (const fs::path& one : {torn, young, order, users}) {
    std::ofstream(one) << "torn";
  }
  for (const fs::path& one : {torn, order, users}) {
    fs::last_write_time(
        one, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  FGNN_ASSERT_OK(file.Write(times));
  EXPECT_FALSE(fs::exists(torn));
  EXPECT_TRUE(fs::exists(young)) << "another service may write it";
  EXPECT_FALSE(fs::exists(order));
  EXPECT_TRUE(fs::exists(users));
  EXPECT_TRUE(file.Read().has_value());
}

TEST_F(DeviceTimesTest, TimesAreKeptWhereTheDatasetCannotBeWritten) {
  // A file is in the way, which also stops root.
  std::ofstream(temp_ / "derived") << "no folder";
  const DeviceTimesFile file = File();
  EXPECT_EQ(file.Read(), std::nullopt);
  fs::create_directories(temp_ / "state");
  MeasuredTimes times;
  times.devices = {{0.1, 0.2, 0.3}, {}, {0.4, 0, 0}, {}};
  times.change_seconds = 5;
  FGNN_ASSERT_OK(file.Write(times));
  const auto back = File().Read();
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->devices.at(0).standby, 0.3);
  EXPECT_EQ(back->devices.at(2).sample, 0.4);
  EXPECT_EQ(back->change_seconds, 5);
}

TEST_F(DeviceTimesTest, AFileOfTimesThatIsWrongIsAsNone) {
  const DeviceTimesFile file = File();
  FGNN_ASSERT_OK(file.Write({.devices = std::vector<DeviceTimes>(4)}));
  const fs::path path = fs::directory_iterator(temp_ / "derived")->path();
  for (const std::string text :
       {"", "{}", "[1]", "{\"devices\": 3}", "{\"devices\": [{}, {}]}",
        "{\"devices\": [1, 2, 3, 4]}", "nonsense",
        "{\"devices\": [{\"sample\": 1e999}, {}, {}, {}]}"}) {
    std::ofstream(path) << text;
    EXPECT_EQ(file.Read(), std::nullopt) << text;
  }
}

TEST_F(DeviceTimesTest, ATimeThatIsNoTimeIsNotKnown) {
  const DeviceTimesFile file = File();
  FGNN_ASSERT_OK(file.Write({.devices = std::vector<DeviceTimes>(4)}));
  std::ofstream(fs::directory_iterator(temp_ / "derived")->path())
      << R"({"devices": [{"sample": -1, "train": "x", "standby": 2}, {}, {}, {}]})";
  const auto read = file.Read();
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->devices[0].sample, 0);
  EXPECT_EQ(read->devices[0].train, 0);
  EXPECT_EQ(read->devices[0].standby, 2);
}

TEST_F(DeviceTimesTest, WhatIsNotKnownIsFilledInByCores) {
  spec_.devices = Devs({"cpu:0-3", "cpu:4", "cpu:5-6"});
  MeasuredTimes times;
  times.devices = {{}, {0, 7, 8}, {}};
  FillIn(spec_, {.cores = {.sample = 0.01, .train = 0.03}}, &times);
  EXPECT_EQ(times.devices[0].sample, 0.01);
  EXPECT_EQ(times.devices[1].sample, 0.04);
  EXPECT_EQ(times.devices[2].train, 0.06);
  EXPECT_EQ(times.devices[1].train, 7);
  EXPECT_EQ(times.devices[1].standby, 8);

  times.devices = {{0.01, 0, 0}, {0, 0.04, 0}, {0.03, 0.02, 0}};
  const auto complete = CompleteTimes(spec_, times);
  ASSERT_TRUE(complete.has_value());
  EXPECT_DOUBLE_EQ((*complete)[1].sample, 0.02);
  EXPECT_DOUBLE_EQ((*complete)[0].train, 0.03);
  times.devices = {{0.01, 0, 0}, {0.01, 0, 0}, {0.01, 0, 0}};
  EXPECT_EQ(CompleteTimes(spec_, times), std::nullopt);
}

TEST_F(DeviceTimesTest, EachKindIsFilledInFromItsOwn) {
  spec_.devices = Devs({"cpu:0-3", "cuda:0+cpu:5-8", "cpu:4", "cuda:1"});
  MeasuredTimes times;
  FillIn(spec_,
         {.cores = {.sample = 0.01}, .gpus = {.sample = 0.002, .train = 0.03}},
         &times);
  EXPECT_EQ(times.devices[0].sample, 0.01);
  EXPECT_EQ(times.devices[1].sample, 0.002);
  EXPECT_EQ(times.devices[2].sample, 0.04);
  EXPECT_EQ(times.devices[3].sample, 0.002);
  // Cores beside a GPU train nothing.
  EXPECT_EQ(times.devices[0].train, 0);
  EXPECT_EQ(times.devices[3].train, 0.03);

  times.devices = {{0.01, 0, 0}, {0, 0.03, 0}, {0, 0, 0}, {0.002, 0, 0}};
  const auto complete = CompleteTimes(spec_, times);
  ASSERT_TRUE(complete.has_value());
  EXPECT_EQ((*complete)[1].sample, 0.002);
  EXPECT_EQ((*complete)[2].sample, 0.01);
  EXPECT_EQ((*complete)[2].train, 0);
  EXPECT_EQ((*complete)[3].train, 0.03);
  times.devices[3].sample = 0;
  EXPECT_EQ(CompleteTimes(spec_, times), std::nullopt) << "no GPU sampled yet";
}

}  // namespace
}  // namespace fgnn
