// Hosts that share out the places of each step, and end in the weights of one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
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

// Links break before, between and behind the parts of an entry, or bring a part
// damaged, repeated or cut off.
TEST(ExchangeTest, LinksThatBreakChangeNothing) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    Hosts hosts(StepsOfFour(), {2, 1, 1}, [&random](EntryPart& part) {
      switch (random() % 20) {
        case 0:
        case 1:
          return absl::UnavailableError("the link broke");
        case 2:
          part.floats[7] ^= 1;
          break;
        case 3:
          part.floats += part.floats;
          break;
        case 4:
          part.floats.resize(part.floats.size() - sizeof(float));
          break;
        case 5:
          part.end.reset();
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
    Hosts hosts(StepsOfFour(), {2, 1, 1}, [](EntryPart& part) {
      if (!part.end.has_value()) return absl::OkStatus();
      if (++part.end->record.staleness < 4) {
        return absl::DeadlineExceededError("it is under way");
      }
      part.end->record.staleness = 0;
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

// Links over which nothing comes. They note what was asked for.
class SilentLinks final : public HostLinks {
 public:
  struct Asked {
    uint64_t version;
    std::vector<BatchPart> tasks;
    bool operator==(const Asked&) const = default;
  };
  explicit SilentLinks(std::vector<Asked>* asked) : asked_(*asked) {}

  absl::StatusOr<std::unique_ptr<EntryStream>> Ask(
      uint32_t /*host*/, uint64_t version,
      const std::vector<BatchPart>& tasks) override {
    asked_.push_back({version, tasks});
    return std::make_unique<Stream>();
  }
  absl::Status CopyWeights(uint32_t /*host*/, uint64_t /*version*/,
                           TakeWeights /*take*/) override {
    return absl::UnavailableError("nothing comes");
  }
  absl::StatusOr<LinkQuality> Probe(
      uint32_t /*host*/, const std::function<bool()>& /*is_stopped*/) override {
    return absl::UnavailableError("nothing comes");
  }

 private:
  class Stream final : public EntryStream {
    absl::StatusOr<std::optional<EntryPart>> Next(
        Deadline /*deadline*/) override {
      return std::nullopt;
    }
    bool is_over() override { return false; }
  };
  std::vector<Asked>& asked_;
};

// So the way of a request to the other host delays no step.
TEST(ExchangeTest, TheNextStepIsAskedForAheadAndOnce) {
  std::vector<SilentLinks::Asked> asked;
  Hosts hosts(StepsOfFour(), {2, 2}, {}, [&asked](uint32_t /*self*/) {
    return std::make_unique<SilentLinks>(&asked);
  });
  constexpr size_t kFollower = 2;
  for (int round = 0; round < 3; ++round) {
    FGNN_ASSERT_OK(hosts.Act(0, kFollower).status());
  }
  // Without weights, the version is told, and nothing can be taken.
  EXPECT_THAT(asked, testing::ElementsAre(SilentLinks::Asked{0, {}}));
  asked.clear();
  FGNN_ASSERT_OK(
      MakeExactStep(*GradientBoard(hosts.segment(0), kTrainer).TryLease()));
  for (int round = 0; round < 3; ++round) {
    FGNN_ASSERT_OK(hosts.Act(0, kFollower).status());
  }
  EXPECT_THAT(asked,
              testing::ElementsAre(
                  SilentLinks::Asked{0, {{BatchSeq(2)}, {BatchSeq(3)}}},
                  SilentLinks::Asked{0, {{BatchSeq(6)}, {BatchSeq(7)}}}));
}

// A processor that computes other bits.
TEST(ExchangeTest, OtherWeightsEndTheJobAndNameTheHost) {
  Hosts hosts(StepsOfFour(), {2, 2}, [](EntryPart& part) {
    if (part.task.seq >= BatchSeq(4) && part.end.has_value()) {
      part.end->weights_crc = 7;
    }
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

TEST(EntrySourceTest, TheLastPartOfAnEntryHasItsChecksums) {
  Hosts hosts(StepsOfFour(), {4});
  for (const size_t actor : {1, 0, 1}) {
    FGNN_ASSERT_OK(hosts.Act(0, actor).status());
  }
  GradientBoard board(hosts.segment(0), kNoOwner);
  const BatchPart task = {BatchSeq(0)};
  const absl::Span<const float> gradient = board.gradient(task);
  const size_t floats_per_part = gradient.size() / 2 + 1;
  FGNN_ASSERT_OK_AND_ASSIGN(
      EntrySource source,
      EntrySource::Make(hosts.segment(0), {task}, floats_per_part));
  std::string floats;
  for (const bool is_last : {false, true}) {
    EXPECT_FALSE(source.is_over());
    FGNN_ASSERT_OK_AND_ASSIGN(const std::optional<EntryPart> part,
                              source.Next(NoWait()));
    ASSERT_TRUE(part.has_value());
    EXPECT_EQ(part->task, task);
    floats += part->floats;
    ASSERT_EQ(part->end.has_value(), is_last);
    if (!is_last) continue;
    EXPECT_EQ(part->end->record.seq_plus_one, 1U);
    EXPECT_EQ(part->end->gradient_crc, CrcOf(gradient));
    EXPECT_EQ(part->end->weights_crc, WeightsCrc(board, 0));
  }
  EXPECT_TRUE(source.is_over());
  EXPECT_EQ(floats, std::string(reinterpret_cast<const char*>(gradient.data()),
                                gradient.size() * sizeof(float)));
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
