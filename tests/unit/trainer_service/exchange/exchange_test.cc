// Hosts that share out the places of each step, and end in the weights of one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/trainer_service/exchange/hosts_of_a_job.h"

namespace fgnn {
namespace {

// Lets all actors act in an order that the seed chooses.
void RunInAnyOrder(Hosts& hosts, uint32_t seed) {
  std::mt19937 random(seed);
  constexpr int kMostActs = 200'000;
  for (int act = 0; act < kMostActs && !hosts.AreDone(); ++act) {
    const size_t host = random() % hosts.size();
    FGNN_ASSERT_OK(hosts.Act(host, random() % hosts.num_actors()).status());
  }
  ASSERT_TRUE(hosts.AreDone()) << "the job does not end";
}

const std::vector<std::vector<uint64_t>>& AllShares() {
  static const auto& shares = *new std::vector<std::vector<uint64_t>>{
      {4}, {2, 2}, {3, 1}, {1, 3}, {2, 1, 1}, {1, 1, 1, 1}};
  return shares;
}

TEST(ExchangeTest, EveryHostEndsInTheWeightsOfOne) {
  for (const std::vector<uint64_t>& shares : AllShares()) {
    for (uint32_t seed = 0; seed < 10; ++seed) {
      SCOPED_TRACE(absl::StrCat(shares.size(), " hosts, seed ", seed));
      Hosts hosts(StepsOfFour(), shares);
      RunInAnyOrder(hosts, seed);
      ExpectResultsOfOne(hosts);
    }
  }
}

// Links break before an entry, behind one, or bring one damaged, one in five.
TEST(ExchangeTest, LinksThatBreakChangeNothing) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    Hosts hosts(StepsOfFour(), {2, 1, 1}, [&random](BoardEntry& entry) {
      switch (random() % 10) {
        case 0:
          return absl::UnavailableError("the link broke");
        case 1:
          entry.gradient[7] += 1;
          break;
        default:
          break;
      }
      return absl::OkStatus();
    });
    RunInAnyOrder(hosts, seed);
    ExpectResultsOfOne(hosts);
    EXPECT_GT(hosts.num_breaks(), 0U);
  }
}

// Each entry needs four calls of Follow(), in one of which it is asked for.
TEST(ExchangeTest, EntriesThatTakeManyRoundsArrive) {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Hosts hosts(StepsOfFour(), {2, 1, 1}, [](BoardEntry& entry) {
      if (++entry.record.staleness < 4) {
        return absl::DeadlineExceededError("it is under way");
      }
      entry.record.staleness = 0;
      return absl::OkStatus();
    });
    RunInAnyOrder(hosts, seed);
    ExpectResultsOfOne(hosts);
    EXPECT_EQ(hosts.num_breaks(), 0U);
  }
}

// A host that has no batch in any step makes every step all the same.
TEST(ExchangeTest, AHostWithoutBatchesKeepsUp) {
  SegmentOptions options = StepsOfFour();
  options.batches_per_epoch = 2;
  options.epochs = 8;
  for (uint32_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Hosts hosts(options, {2, 2});
    RunInAnyOrder(hosts, seed);
    ExpectResultsOfOne(hosts);
  }
}

// A batch's record lies where that of the step before lies.
TEST(ExchangeTest, EpochsOfOneStepLoseNoRecord) {
  SegmentOptions options = StepsOfFour();
  options.batches_per_epoch = 4;
  options.epochs = 8;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Hosts hosts(options, {2, 2});
    RunInAnyOrder(hosts, seed);
    ExpectResultsOfOne(hosts);
  }
}

TEST(ExchangeTest, ThreadsOfAllHostsWaitForEachOther) {
  Hosts hosts(StepsOfFour(), {2, 2});
  RunInThreads(hosts);
  ExpectResultsOfOne(hosts);
}

// A processor that computes other bits.
TEST(ExchangeTest, OtherWeightsEndTheJobAndNameTheHost) {
  Hosts hosts(StepsOfFour(), {2, 2}, [](BoardEntry& entry) {
    if (entry.task.seq >= BatchSeq(4)) entry.weights_crc = 7;
    return absl::OkStatus();
  });
  std::mt19937 random(1);
  absl::Status ended;
  for (int act = 0; act < 200'000 && ended.ok() && !hosts.AreDone(); ++act) {
    ended = hosts.Act(random() % 2, random() % 3).status();
  }
  EXPECT_THAT(
      ended,
      StatusIs(absl::StatusCode::kDataLoss,
               testing::AllOf(testing::HasSubstr("of the weights is another"),
                              testing::HasSubstr("on host"))));
}

// A step writes its weights where the version before the newest one was, while
// the newest one is still the newest.
TEST(EntrySourceTest, OnlyTheNewestWeightsHaveAChecksum) {
  const std::unique_ptr<Segment> segment = MakeSegment(StepsOfFour());
  GradientBoard board(segment.get(), kTrainer);
  EXPECT_FALSE(WeightsCrc(board, 0).has_value());
  FGNN_ASSERT_OK(MakeExactStep(*board.TryLease()));
  EXPECT_TRUE(WeightsCrc(board, 0).has_value());
  EXPECT_FALSE(WeightsCrc(board, 1).has_value());
  board.OpenForTraining(StepNumber(1));
  for (const BatchPart& task : board.TasksOf(StepNumber(0))) {
    FGNN_ASSERT_OK(board.MarkDone(task, {}));
  }
  FGNN_ASSERT_OK(MakeExactStep(*board.TryLease()));
  EXPECT_FALSE(WeightsCrc(board, 0).has_value());
  EXPECT_TRUE(WeightsCrc(board, 1).has_value());
}

TEST(EntrySourceTest, TasksOfAnotherHostOrOfTwoStepsAreRefused) {
  Hosts hosts(StepsOfFour(), {2, 2});
  for (const std::vector<BatchPart>& tasks :
       std::vector<std::vector<BatchPart>>{{{BatchSeq(2)}},
                                           {{BatchSeq(0), 1}},
                                           {{BatchSeq(0)}, {BatchSeq(4)}},
                                           {{BatchSeq(1'000'000)}}}) {
    EXPECT_THAT(EntrySource::Make(hosts.segment(0), tasks).status(),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  EXPECT_THAT(EntrySource::Make(hosts.segment(1), {{BatchSeq(2)}}).status(),
              IsOk());
}

}  // namespace
}  // namespace fgnn
