#include "trainer_service/compute/thread_team.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "trainer_service/compute/scratch.h"

namespace fgnn {
namespace {

class ThreadTeamTest : public testing::TestWithParam<int> {};

TEST_P(ThreadTeamTest, RunsEveryTaskOnceLoopAfterLoop) {
  ThreadTeam team(GetParam());
  for (int loop = 0; loop < 300; ++loop) {
    const int64_t num_tasks = loop % 7 * 13;
    std::vector<std::atomic<int>> runs(static_cast<size_t>(num_tasks) + 1);
    std::atomic<bool> workers_in_range = true;
    FGNN_ASSERT_OK(team.Run(num_tasks, [&](int64_t task, int worker) {
      ++runs[static_cast<size_t>(task)];
      if (worker < 0 || worker >= team.size()) workers_in_range = false;
    }));
    for (int64_t task = 0; task < num_tasks; ++task) {
      ASSERT_EQ(runs[static_cast<size_t>(task)], 1) << "task " << task;
    }
    EXPECT_TRUE(workers_in_range);
  }
}

TEST_P(ThreadTeamTest, SaysWhatATaskThrewAndGoesOn) {
  ThreadTeam team(GetParam());
  EXPECT_THAT(team.Run(100,
                       [](int64_t task, int) {
                         if (task == 30) throw std::runtime_error("no luck");
                       }),
              Internal("no luck"));
  EXPECT_THAT(team.Run(100, [](int64_t, int) { throw std::bad_alloc(); }),
              ResourceExhausted());
  std::atomic<int> runs = 0;
  FGNN_ASSERT_OK(team.Run(100, [&](int64_t, int) { ++runs; }));
  EXPECT_EQ(runs, 100);
}

INSTANTIATE_TEST_SUITE_P(Sizes, ThreadTeamTest, testing::Values(1, 2, 5));

TEST(ScratchTest, GrowsOnLinesAndKeepsItsPlaceOtherwise) {
  Scratch<float> buffer;
  float* first = buffer.Reserve(1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0U);
  EXPECT_EQ(buffer.Reserve(10), first);
  EXPECT_EQ(buffer.Reserve(1000), first);
  float* second = buffer.Reserve(100'000);
  second[99'999] = 1;
  EXPECT_EQ(reinterpret_cast<uintptr_t>(second) % 64, 0U);
  Scratch<float> other = std::move(buffer);
  EXPECT_EQ(other.Reserve(100'000), second);
  EXPECT_NE(buffer.Reserve(0), nullptr);
}

}  // namespace
}  // namespace fgnn
