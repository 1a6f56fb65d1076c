// Faults of each kind stay found, and correct twins stay silent.
#include "tests/unit/simt/planted.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/unit/simt/run_kernel.h"
#include "tests/unit/simt/sanitizer.h"

namespace fgnn::simt {
namespace {

// What ThreadSanitizer ends a program with that raced.
constexpr int kRaced = 66;

// A death test runs in a new process: sanitizers do not follow a fork.
void UseNewProcesses() { testing::FLAGS_gtest_death_test_style = "threadsafe"; }

std::vector<uint32_t> RunRace(Race race, bool planted) {
  return RunKernel(128, {.blocks_at_once = 3},
                   [&](uint32_t* out, cudaStream_t stream) {
                     return LaunchRace(race, planted, out, stream);
                   });
}

class RaceTest : public testing::TestWithParam<Race> {};

TEST_P(RaceTest, IsReported) {
  if (kSanitizer != Sanitizer::kThread) {
    GTEST_SKIP() << "needs ThreadSanitizer: the preset tsan";
  }
  UseNewProcesses();
  EXPECT_EXIT(
      {
        RunRace(GetParam(), /*planted=*/true);
        std::exit(0);
      },
      testing::ExitedWithCode(kRaced), "data race");
}

// A report here would end the whole program with an error.
TEST_P(RaceTest, ItsCorrectTwinIsSilent) {
  EXPECT_FALSE(RunRace(GetParam(), /*planted=*/false).empty());
}

std::string NameOf(const testing::TestParamInfo<Race>& race) {
  const char* const names[] = {"BarrierMissing", "Blocks", "WarpNotSynced",
                               "FlagRelaxed", "PlainStore"};
  return names[static_cast<int>(race.param)];
}
INSTANTIATE_TEST_SUITE_P(Faults, RaceTest,
                         testing::Values(Race::kBarrierMissing, Race::kBlocks,
                                         Race::kWarpNotSynced,
                                         Race::kFlagRelaxed, Race::kPlainStore),
                         NameOf);

// All of it is atomic, so only another order of the threads shows it.
TEST(ElectionTest, CheckThenSetIsFoundByASeed) {
  const auto most_winners = [](bool planted) {
    uint32_t most = 0;
    for (uint64_t seed = 0; seed < 5; ++seed) {
      most = std::max(
          most,
          RunKernel(2, {.seed = seed}, [&](uint32_t* out, cudaStream_t stream) {
            return LaunchElection(planted, out, stream);
          }).at(0));
    }
    return most;
  };
  EXPECT_GT(most_winners(true), 1u);
  EXPECT_EQ(most_winners(false), 1u);
}

void RunOverrun(Overrun overrun) {
  RunKernel(64, {}, [&](uint32_t* out, cudaStream_t stream) {
    return LaunchOverrun(overrun, 64, out, stream);
  });
}

TEST(OverrunTest, BehindAnArrayIsReported) {
  if (kSanitizer != Sanitizer::kAddress) {
    GTEST_SKIP() << "needs AddressSanitizer: the preset asan";
  }
  UseNewProcesses();
  // Clang's bounds check comes first where it knows the array.
  EXPECT_DEATH(RunOverrun(Overrun::kShared),
               "out of bounds|global-buffer-overflow");
  EXPECT_DEATH(RunOverrun(Overrun::kDevice), "heap-buffer-overflow");
}

TEST(OverrunTest, InsideIsSilent) { RunOverrun(Overrun::kNone); }

class MisuseTest : public testing::Test {
 protected:
  void SetUp() override { UseNewProcesses(); }
  static void RunMisuse(Misuse misuse) {
    RunKernel(64, {}, [&](uint32_t* out, cudaStream_t stream) {
      return LaunchMisuse(misuse, out, stream);
    });
  }
};
using MisuseDeathTest = MisuseTest;

TEST_F(MisuseDeathTest, LanesThatCannotComeAreReportedWithTheLine) {
  EXPECT_DEATH(RunMisuse(Misuse::kEndedLane),
               "the mask has a lane that has ended\n.*planted.cu:[0-9]+");
  EXPECT_DEATH(RunMisuse(Misuse::kLaneBeyond),
               "the mask has lanes that the block does not have");
  EXPECT_DEATH(RunMisuse(Misuse::kNotInMask),
               "the mask is without the calling lane");
}

TEST_F(MisuseDeathTest, LanesThatCallSomethingElseAreReported) {
  EXPECT_DEATH(RunMisuse(Misuse::kOtherMask),
               "makes another call, or has another");
  EXPECT_DEATH(RunMisuse(Misuse::kOtherCall),
               "makes another call, or has another");
}

TEST_F(MisuseDeathTest, WaitsThatDoNotMeetAreReportedWithTheirLines) {
  EXPECT_DEATH(RunMisuse(Misuse::kDifferentBarriers),
               "wait at different barriers of the source\n"
               ".*thread 0 waits at .*planted.cu:[0-9]+ .block.");
  EXPECT_DEATH(RunMisuse(Misuse::kDeadlock),
               "threads wait for others that never come\n"
               ".*thread 0 waits at .*planted.cu:[0-9]+ .warp., mask ffffffff");
}

}  // namespace
}  // namespace fgnn::simt
