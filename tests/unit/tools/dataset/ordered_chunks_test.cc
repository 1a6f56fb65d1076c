#include "tools/dataset/building/ordered_chunks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/threads/notification.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using testing::ElementsAre;

constexpr uint64_t kChunks = 200;
constexpr unsigned kThreads = 4;

TEST(RunOrderedChunksTest, UsesWhatAThreadMadeInTheOrderOfChunks) {
  std::atomic<unsigned> num_others = 0;
  Notification others_made;
  std::vector<uint64_t> used;
  const absl::Status status = RunOrderedChunks<uint64_t>(
      kChunks, kThreads,
      [&](uint64_t chunk, uint64_t& state) {
        state = chunk;
        // The first chunk is made last.
        if (chunk > 0 && ++num_others == kThreads - 1) others_made.Notify();
        if (chunk == 0) {
          EXPECT_TRUE(
              others_made.WaitUntil(DeadlineIn(std::chrono::minutes(1))));
        }
        return absl::OkStatus();
      },
      [&used](uint64_t chunk, uint64_t& state) {
        EXPECT_EQ(state, chunk);
        used.push_back(chunk);
        return absl::OkStatus();
      });
  EXPECT_THAT(status, IsOk());
  std::vector<uint64_t> all(kChunks);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(used, all);
}

TEST(RunOrderedChunksTest, ReturnsTheFirstErrorByChunkAndUsesNoneAfterIt) {
  std::vector<uint64_t> used;
  const absl::Status status = RunOrderedChunks<uint64_t>(
      kChunks, kThreads,
      [](uint64_t chunk, uint64_t&) {
        return chunk < 3 ? absl::OkStatus()
                         : absl::DataLossError(absl::StrCat("chunk ", chunk));
      },
      [&used](uint64_t chunk, uint64_t&) {
        used.push_back(chunk);
        return absl::OkStatus();
      });
  EXPECT_EQ(status, absl::DataLossError("chunk 3"));
  EXPECT_THAT(used, ElementsAre(0, 1, 2));
}

TEST(RunOrderedChunksTest, AnErrorOfAUseEndsTheWork) {
  std::vector<uint64_t> used;
  const absl::Status status = RunOrderedChunks<uint64_t>(
      kChunks, kThreads, [](uint64_t, uint64_t&) { return absl::OkStatus(); },
      [&used](uint64_t chunk, uint64_t&) {
        used.push_back(chunk);
        return chunk == 2 ? absl::DataLossError("no room") : absl::OkStatus();
      });
  EXPECT_EQ(status, absl::DataLossError("no room"));
  EXPECT_THAT(used, ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace fgnn
