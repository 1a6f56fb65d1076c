#include "scheduler/times/device_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

TEST(DeviceTimesTest, WhatAKilledSchedulerLeftGoesWithTheNextTimes) {
  const TempFolder temp;
  JobSpec spec;
  spec.dataset = temp.path().string();
  spec.devices = {"cpu:0"};
  const DeviceTimesFile file(spec, temp / "state");
  const MeasuredTimes times = {.devices = {{.sample = 1, .train = 2}}};
  FGNN_ASSERT_OK(file.Write(times));
  const fs::path path = *fs::directory_iterator(temp / "derived");
  const fs::path torn = path.string() + ".AbCdEf";
  const fs::path young = path.string() + ".GhIjKl";
  const fs::path other = temp / "derived/order.bin.AbCdEf";
  for (const fs::path& one : {torn, young, other}) std::ofstream(one) << "torn";
  for (const fs::path& one : {torn, other}) {
    fs::last_write_time(
        one, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  FGNN_ASSERT_OK(file.Write(times));
  EXPECT_FALSE(fs::exists(torn));
  EXPECT_TRUE(fs::exists(young)) << "another service may write it";
  EXPECT_TRUE(fs::exists(other));
  EXPECT_TRUE(file.Read().has_value());
}

}  // namespace
}  // namespace fgnn
