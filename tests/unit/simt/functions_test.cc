// What emulated kernels compute.
#include "tests/unit/simt/functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "tests/unit/simt/run_kernel.h"
#include "tests/unit/simt/sanitizer.h"

namespace fgnn::simt {
namespace {

using testing::Each;
using testing::ElementsAreArray;

std::vector<uint32_t> RunFunction(Function function, uint32_t threads,
                                  const Options& options = {}) {
  return RunKernel(threads, options, [&](uint32_t* out, cudaStream_t stream) {
    return LaunchFunction(function, threads, out, stream);
  });
}

// What each thread of two warps is to get.
std::vector<uint32_t> ForEach(
    const std::function<uint32_t(uint32_t thread, uint32_t lane)>& value) {
  std::vector<uint32_t> values(64);
  for (uint32_t i = 0; i < values.size(); ++i) values[i] = value(i, i % 32);
  return values;
}

class FunctionsTest : public testing::TestWithParam<uint64_t> {
 protected:
  std::vector<uint32_t> Get(Function function) {
    return RunFunction(function, 64, {.seed = GetParam()});
  }
};

TEST_P(FunctionsTest, ShufflesTakeTheValueOfALane) {
  EXPECT_EQ(Get(Function::kShuffle), ForEach([](uint32_t i, uint32_t lane) {
              return i - lane + 31 - lane;
            }));
  EXPECT_EQ(Get(Function::kShuffleUp), ForEach([](uint32_t i, uint32_t lane) {
              return lane < 3 ? i : i - 3;
            }));
  EXPECT_EQ(Get(Function::kShuffleDown), ForEach([](uint32_t i, uint32_t lane) {
              return lane % 8 + 3 < 8 ? i + 3 : i;
            }));
  EXPECT_EQ(Get(Function::kShuffleXor),
            ForEach([](uint32_t i, uint32_t) { return i ^ 5; }));
}

TEST_P(FunctionsTest, AShuffleOfPartOfAWarpLeavesTheOthersAlone) {
  EXPECT_EQ(Get(Function::kMaskedShuffle),
            ForEach([](uint32_t i, uint32_t lane) {
              return lane < 16 ? i - lane + 2 : 12345;
            }));
}

TEST_P(FunctionsTest, VotesSeeAllLanesOfAWarp) {
  EXPECT_THAT(Get(Function::kBallot), Each(0xaaaaaaaau));
  EXPECT_THAT(Get(Function::kAny), Each(1u));
  EXPECT_THAT(Get(Function::kAll), Each(1u));
  EXPECT_EQ(Get(Function::kMatchAny), ForEach([](uint32_t, uint32_t lane) {
              return 0x49249249u << lane % 3;
            }));
  EXPECT_THAT(Get(Function::kReduceAdd), Each(32u * 33 / 2));
  EXPECT_THAT(Get(Function::kReduceMax), Each(93u));
}

TEST_P(FunctionsTest, BarriersVoteOfTheWholeBlock) {
  EXPECT_THAT(Get(Function::kBarrierOr), Each(1u));
  EXPECT_THAT(Get(Function::kBarrierCount), Each(32u));
  EXPECT_THAT(RunFunction(Function::kBarrierOr, 40, {.seed = GetParam()}),
              Each(0u));
}

TEST_P(FunctionsTest, AtomicsLoseNothing) {
  const std::vector<uint32_t> out =
      RunKernel(9, {.seed = GetParam()}, LaunchAtomics);
  ASSERT_EQ(out.size(), 9U);
  EXPECT_EQ(out[0], 64u * 63 / 2);
  EXPECT_EQ(out[1], 500u - 63);
  EXPECT_EQ(out[2], 126u);
  EXPECT_EQ(out[3], ~0u);
  // What was exchanged away and what is left are all numbers that were given.
  EXPECT_EQ(out[4] + out[5], 64u * 65 / 2);
  EXPECT_GE(out[6], 1u);
  EXPECT_EQ(out[7], 1u);
  uint32_t bits = 0;
  for (uint32_t thread = 0; thread < 64; ++thread) bits ^= thread * thread + 5;
  EXPECT_EQ(out[8], bits);
}

TEST_P(FunctionsTest, BarriersSeparateTheHalvesOfABlocksSum) {
  for (const uint32_t blocks_at_once : {1u, 3u}) {
    const std::vector<uint32_t> out =
        RunKernel(7, {.seed = GetParam(), .blocks_at_once = blocks_at_once},
                  [](uint32_t* sums, cudaStream_t stream) {
                    return LaunchBlockSum(7, sums, stream);
                  });
    ASSERT_EQ(out.size(), 7U);
    for (uint32_t b = 0; b < 7; ++b)
      EXPECT_EQ(out[b], 256u * 255 / 2 + 256 * b);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, FunctionsTest, testing::Range<uint64_t>(0, 5));

TEST(SimtTest, EveryThreadOfEveryBlockRunsOnce) {
  for (const uint32_t blocks_at_once : {1u, 2u, 5u}) {
    const std::vector<uint32_t> out =
        RunKernel(3 * 33, {.blocks_at_once = blocks_at_once},
                  [](uint32_t* words, cudaStream_t stream) {
                    return LaunchIndex(3, 33, words, stream);
                  });
    ASSERT_EQ(out.size(), 99U);
    for (uint32_t i = 0; i < 99; ++i) {
      EXPECT_EQ(out[i], i / 33 * 100 + i % 33 + (3u << 16));
    }
  }
}

TEST(SimtTest, ABlockWithoutWaitsNeedsOneSwitch) {
  if (kSanitizer == Sanitizer::kThread) {
    GTEST_SKIP() << "ThreadSanitizer gives each thread a fiber of its own";
  }
  const uint64_t before = NumSwitches();
  RunKernel(256, {}, [](uint32_t* words, cudaStream_t stream) {
    return LaunchIndex(1, 256, words, stream);
  });
  EXPECT_EQ(NumSwitches() - before, 1u);
}

TEST(SimtTest, DynamicSharedMemoryBeginsAsNoNumber) {
  if (kSanitizer == Sanitizer::kThread) {
    GTEST_SKIP() << "it is not filled under ThreadSanitizer";
  }
  EXPECT_THAT(RunFunction(Function::kDynamicShared, 1), Each(~0u));
}

TEST(SimtTest, ASeedRepeatsItsOrderAndAnotherOneHasAnother) {
  const auto arrivals = [](uint64_t seed) {
    return RunKernel(1 + 4 * 64, {.seed = seed, .blocks_at_once = 3},
                     [](uint32_t* words, cudaStream_t stream) {
                       return LaunchArrivals(4, 64, words, stream);
                     });
  };
  const std::vector<uint32_t> once = arrivals(7);
  EXPECT_EQ(arrivals(7), once);
  EXPECT_NE(arrivals(8), once);

  std::vector<uint32_t> sorted(once.begin() + 1, once.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<uint32_t> expected(4 * 64);
  std::iota(expected.begin(), expected.end(), 0u);
  EXPECT_THAT(sorted, ElementsAreArray(expected));
}

TEST(SimtTest, RefusesABlockThatNoDeviceHas) {
  EXPECT_TRUE(RunKernel(1, {}, [](uint32_t* words, cudaStream_t stream) {
                return LaunchIndex(1, 1025, words, stream);
              }).empty());
}

}  // namespace
}  // namespace fgnn::simt
