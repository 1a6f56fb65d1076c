#include "scheduler/times/device_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "tests/fakes/default_job.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

TEST(DeviceTimesTest, WhatAKilledSchedulerLeftGoesWithTheNextTimes) {
  const TempFolder temp;
  JobSpec spec = DefaultJob();
  spec.dataset = temp.path().string();
  const DeviceTimesFile file(spec, temp / "state");
  const MeasuredTimes times = {.devices = {{.sample = 1, .train = 2}}};
  FGNN_ASSERT_OK(file.Write(times));
  const fs::path path = *fs::directory_iterator(temp / "derived");
  const fs::path torn = path.string() + ".tmp-AbCdEf";
  const fs::path young = path.string() + ".tmp-GhIjKl";
  const fs::path order = temp / "derived/order.bin.tmp-AbCdEf";
  const fs::path users = temp / "derived/order.bin.backup";
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

}  // namespace
}  // namespace fgnn
