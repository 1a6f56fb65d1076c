#include "shared/device/memory_kills.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using testing::HasSubstr;
using testing::Not;

// A machine of files: proc/ and sys/ in a folder of its own.
class MemoryKillsTest : public testing::Test {
 protected:
  void SetUp() override {
    Write("proc/meminfo", "MemTotal: 1048576 kB\nMemAvailable: 1 kB\n");
  }
  void Write(const std::string& path, const std::string& contents) {
    const std::filesystem::path file = folder_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << contents;
  }

  const TempFolder folder_;
  const Deadline now_ = MonotonicClock::now();
};

TEST_F(MemoryKillsTest, Version2CountsInTheProcesssOwnGroup) {
  Write("proc/17/cgroup", "0::/service/job\n");
  Write("sys/fs/cgroup/service/memory.events", "oom 3\noom_kill 3\n");
  Write("sys/fs/cgroup/service/memory.max", "268435456\n");
  const std::string own = "sys/fs/cgroup/service/job/memory.events";
  Write(own, "low 0\noom 9\noom_kill 2\noom_group_kill 0\n");
  const MemoryKills kills(17, folder_.path());
  EXPECT_FALSE(kills.HasKilled());
  Write("sys/fs/cgroup/service/memory.events", "oom 3\noom_kill 4\n");
  EXPECT_FALSE(kills.HasKilled());
  Write(own, "low 0\noom 9\noom_kill 3\noom_group_kill 0\n");
  EXPECT_TRUE(kills.HasKilled());
  EXPECT_EQ(
      kills.Describe(220'200'960),
      "from the kernel, for memory: it needed more than the 210.0 MiB that "
      "it had, and 256.0 MiB are allowed to all here");
}

TEST_F(MemoryKillsTest, Version1AsWellAlsoOnceTheProcessHasEnded) {
  Write("proc/17/cgroup", "4:cpu,memory:/a/b\n0::/\n");
  const std::string own = "sys/fs/cgroup/memory/a/b/";
  Write(own + "memory.oom_control", "under_oom 0\noom_kill 0\n");
  Write(own + "memory.limit_in_bytes", "1048576\n");
  Write("sys/fs/cgroup/memory/memory.oom_control", "oom_kill 5\n");
  MemoryKills kills(17, folder_.path());
  Write(own + "memory.oom_control", "under_oom 1\noom_kill 1\n");
  // The kernel shows a process that ends in the root.
  Write("proc/17/cgroup", "4:cpu,memory:/\n0::/\n");
  kills.Follow(now_);
  EXPECT_TRUE(kills.HasKilled());
  EXPECT_THAT(kills.Describe(0), HasSubstr("1.00 MiB are allowed"));
  EXPECT_THAT(kills.Describe(0), Not(HasSubstr("that it had")));
}

TEST_F(MemoryKillsTest, FollowsAProcessToAnotherGroup) {
  Write("proc/17/cgroup", "0::/a\n");
  Write("sys/fs/cgroup/a/memory.events", "oom_kill 1\n");
  Write("sys/fs/cgroup/b/memory.events", "oom_kill 7\n");
  MemoryKills kills(17, folder_.path());
  Write("proc/17/cgroup", "0::/b\n");
  kills.Follow(now_);
  EXPECT_FALSE(kills.HasKilled());
  Write("sys/fs/cgroup/b/memory.events", "oom_kill 8\n");
  EXPECT_TRUE(kills.HasKilled());
}

// The counter is that of all processes of the group.
TEST_F(MemoryKillsTest, AnEarlierKillOfAnotherProcessDoesNotCount) {
  const auto count_is = [this](int count) {
    Write("sys/fs/cgroup/a/memory.events",
          "oom_kill " + std::to_string(count) + "\n");
  };
  const auto after = [this](int ms) {
    return now_ + std::chrono::milliseconds(ms);
  };
  Write("proc/17/cgroup", "0::/a\n");
  count_is(0);
  MemoryKills kills(17, folder_.path());
  kills.Follow(after(0));
  count_is(1);
  kills.Follow(after(2'000));
  EXPECT_TRUE(kills.HasKilled());  // It may be this one, which still ends.
  kills.Follow(after(3'999));      // No look: the one before was just now.
  EXPECT_TRUE(kills.HasKilled());
  kills.Follow(after(4'000));
  EXPECT_FALSE(kills.HasKilled());
  count_is(2);
  EXPECT_TRUE(kills.HasKilled());
}

TEST_F(MemoryKillsTest, WithoutACgroupTheMachinesCounterCounts) {
  Write("proc/17/cgroup", "0::/\n");
  Write("proc/vmstat", "nr_free_pages 5\noom_kill 4\n");
  const MemoryKills kills(17, folder_.path());
  EXPECT_FALSE(kills.HasKilled());
  Write("proc/vmstat", "nr_free_pages 5\noom_kill 5\n");
  EXPECT_TRUE(kills.HasKilled());
  EXPECT_THAT(kills.Describe(1 << 20), HasSubstr("1.00 GiB are allowed"));
}

TEST_F(MemoryKillsTest, WithoutACounterNothingIsKnown) {
  const MemoryKills kills(17, folder_.path());
  EXPECT_FALSE(kills.HasKilled());
}

}  // namespace
}  // namespace fgnn
