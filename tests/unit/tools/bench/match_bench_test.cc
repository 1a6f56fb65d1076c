#include "tools/bench/match/match_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "sampler_service/presample/hotness.h"
#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "tests/fakes/status_matchers.h"
#include "tests/reference/random_graph.h"
#include "tests/reference/sampling_reference.h"
#include "tests/unit/tools/bench/match_cases.h"

namespace fgnn {
namespace {

using reference::TestDraws;
using testing::ElementsAre;
using testing::HasSubstr;

uint64_t LoadedByTrial(const std::vector<BatchRows>& batches, size_t kept) {
  uint64_t loaded = 0;
  for (size_t i = 0; i < batches.size(); ++i) {
    for (const GlobalId v : batches[i]) {
      bool has = false;
      for (size_t k = 1; k <= std::min(kept, i); ++k) {
        has |= Shared({v}, batches[i - k]) > 0;
      }
      loaded += has ? 0 : 1;
    }
  }
  return loaded;
}

// Vertex 0 is cached. Behind it the batches miss {1,2,3}, {4,5}, {2,3,6}, {5}.
TEST(MatchBenchTest, CountsAnExampleMadeByHand) {
  const std::vector<BatchRows> batches = {
      {0, 1, 2, 3}, {0, 4, 5}, {2, 3, 6}, {0, 5}};
  const std::vector<uint32_t> ranks = SameRanks(7);
  WindowOverlap counter = CounterFor(7);
  MatchCountOptions options = {
      .num_batches = 4,
      .order = {.batches_per_epoch = 4, .window = 4, .chains = 1},
      .ranks = ranks,
      .cached = 1};
  const MatchCounts counts = CountMatches(batches, options, &counter);
  EXPECT_EQ(counts.all.input_nodes, 12U);
  EXPECT_EQ(counts.all.missed, 9U);
  // In the drawn order neighbours share nothing; of the last two batches the
  // third has 2 and 3, the fourth 5.
  EXPECT_EQ(counts.all.matched(), 0U);
  EXPECT_THAT(counts.all.kept, ElementsAre(9, 6, 6));
  // Third, first, fourth, second: 2 and 3, nothing, 5.
  EXPECT_EQ(counts.all.greedy, 6U);
  EXPECT_EQ(counts.best, 6U);
  // The first and the third share 2 of 3 rows, the second has all of the
  // fourth's.
  EXPECT_DOUBLE_EQ(counts.mean_degree, (2.0 / 3 + 1) / 6);
  EXPECT_DOUBLE_EQ(counts.degree_spread, 1);
  // Of b's rows a has: the first and the third 2 of 3 of each other's, the
  // second 1 of the fourth's 1, and the fourth 1 of the second's 2. 12 pairs.
  EXPECT_DOUBLE_EQ(counts.mean_match, (2.0 / 3 + 2.0 / 3 + 1 + 0.5) / 12);
  EXPECT_DOUBLE_EQ(counts.headroom, 1);  // The fourth needs nothing more.
  EXPECT_EQ(counts.all.LeftByMatch(), 1);
  EXPECT_DOUBLE_EQ(counts.all.HitRate(), 0.25);
  // The one place keeps 0, which hits three times.
  EXPECT_THAT(counts.all.belady_hits, ElementsAre(3, 3));

  // Two trainers have the first and the third, the second and the fourth.
  options.order.chains = 2;
  const MatchCounts dealt = CountMatches(batches, options, &counter);
  ASSERT_EQ(dealt.trainers.size(), 2U);
  EXPECT_EQ(dealt.trainers[0].input_nodes, 7U);
  EXPECT_EQ(dealt.trainers[0].missed, 6U);
  EXPECT_THAT(dealt.trainers[0].kept, ElementsAre(4, 4, 4));
  EXPECT_EQ(dealt.trainers[1].input_nodes, 5U);
  EXPECT_EQ(dealt.trainers[1].missed, 3U);
  EXPECT_THAT(dealt.trainers[1].kept, ElementsAre(2, 2, 2));
  EXPECT_EQ(dealt.all.loaded(), 6U);
  EXPECT_EQ(dealt.all.greedy, 6U);  // No order is better.
  EXPECT_FALSE(dealt.best.has_value());
}

// Deals the first `count` numbers of an order, in the shortest form.
std::vector<std::vector<size_t>> DealtByTrial(std::vector<size_t> order,
                                              uint64_t per_epoch,
                                              uint32_t trainers) {
  std::vector<std::vector<size_t>> dealt(trainers);
  for (size_t i = 0; i < order.size(); ++i) {
    dealt[i % per_epoch % trainers].push_back(order[i]);
  }
  return dealt;
}

TEST(MatchBenchTest, EqualsThePlainCountForAnyTrainers) {
  constexpr uint64_t kPerEpoch = 7;  // The second window of an epoch has 3.
  WindowOverlap counter = CounterFor(30);
  const std::vector<uint32_t> ranks = SameRanks(30);
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const auto trainers = static_cast<uint32_t>(1 + seed % 5);
    SCOPED_TRACE(absl::StrCat("seed=", seed, " trainers=", trainers));
    const std::vector<BatchRows> batches = RandomBatches(12, 30, seed);
    std::vector<BatchRows> misses(10);
    std::vector<size_t> as_drawn(misses.size());
    std::iota(as_drawn.begin(), as_drawn.end(), 0);
    for (size_t i = 0; i < misses.size(); ++i) {
      std::copy_if(batches[i].begin(), batches[i].end(),
                   std::back_inserter(misses[i]),
                   [](GlobalId v) { return v >= 7; });
    }
    const auto pick = [&](const std::vector<size_t>& numbers) {
      std::vector<BatchRows> picked;
      for (const size_t number : numbers) picked.push_back(misses[number]);
      return picked;
    };
    const MatchCountOptions options = {.num_batches = 10,
                                       .order = {.batches_per_epoch = kPerEpoch,
                                                 .window = 4,
                                                 .chains = trainers},
                                       .ranks = ranks,
                                       .cached = 7};
    const MatchCounts counts = CountMatches(batches, options, &counter);
    const auto first = absl::MakeConstSpan(batches).first(10);
    const auto drawn = DealtByTrial(as_drawn, kPerEpoch, trainers);
    const auto matched = DealtByTrial(
        MatchedBatches(first, options.order, &counter), kPerEpoch, trainers);
    ASSERT_EQ(counts.trainers.size(), trainers);
    RowCounts sum;
    for (uint32_t t = 0; t < trainers; ++t) {
      SCOPED_TRACE(absl::StrCat("trainer ", t));
      const RowCounts& rows = counts.trainers[t];
      uint64_t nodes = 0;
      for (const size_t number : drawn[t]) nodes += batches[number].size();
      const std::vector<BatchRows> own = pick(drawn[t]);
      EXPECT_EQ(rows.input_nodes, nodes);
      EXPECT_EQ(rows.missed, LoadedByTrial(own, 0));
      EXPECT_THAT(rows.kept,
                  ElementsAre(LoadedByTrial(own, 1), LoadedByTrial(own, 2),
                              LoadedByTrial(own, 4)));
      EXPECT_EQ(rows.greedy, LoadedByTrial(pick(matched[t]), 1));
      sum += rows;
    }
    EXPECT_EQ(counts.all.missed, sum.missed);
    EXPECT_EQ(counts.all.kept, sum.kept);
    EXPECT_EQ(counts.all.greedy, sum.greedy);
    EXPECT_EQ(counts.all.belady_hits, sum.belady_hits);
    ASSERT_EQ(counts.best.has_value(), trainers == 1);
    if (trainers == 1) {
      EXPECT_EQ(counts.best,
                counts.all.missed - BestByTrial(misses, options.order, 0, {}));
    }
  }
}

// Eight groups of seeds; those of a group have most neighbours in common.
class PlantedOverlap {
 public:
  static constexpr uint32_t kNumGroups = 8;
  static constexpr uint32_t kGroup = 40;  // Seeds, and as many rows.
  static constexpr uint32_t kNumNodes = 2 * kNumGroups * kGroup;

  PlantedOverlap() : graph_(Lists()), train_(kNumGroups * kGroup) {
    std::iota(train_.begin(), train_.end(), 0);
  }
  SamplerInput input() const { return {graph_.view(), train_}; }

 private:
  static reference::AdjacencyLists Lists() {
    TestDraws draws(9);
    reference::AdjacencyLists lists(kNumNodes);
    for (uint32_t v = 0; v < kNumGroups * kGroup; ++v) {
      for (uint32_t row = 0; row < kGroup; ++row) {
        if (draws.Below(4) == 0) continue;  // A quarter is not its own.
        lists[v].push_back(kNumGroups * kGroup + v / kGroup * kGroup + row);
      }
    }
    return lists;
  }

  reference::CscGraph graph_;
  std::vector<int64_t> train_;
};

// A window alone, for the greedy order does not look over its ends.
TEST(MatchBenchTest, GreedyFindsAPlantedOverlap) {
  const PlantedOverlap planted;
  MatchBenchOptions options;
  options.sampling = {.fanouts = {-1}, .batch_size = 1};
  options.batches = 12;
  options.window = 12;
  options.caches = {0, 0.1};
  options.dependencies = {1};
  for (options.sampling.seed = 0; options.sampling.seed < 8;
       ++options.sampling.seed) {
    FGNN_ASSERT_OK_AND_ASSIGN(const MatchBenchResult result,
                              RunMatchBench(planted.input(), options));
    ASSERT_EQ(result.cases.size(), 2U);
    for (const MatchCase& of_case : result.cases) {
      SCOPED_TRACE(absl::StrCat("seed=", options.sampling.seed,
                                " cache=", of_case.cache));
      const MatchCounts& counts = of_case.counts;
      ASSERT_TRUE(counts.best.has_value());
      const auto best = static_cast<double>(*counts.best);
      const auto greedy = static_cast<double>(counts.all.greedy);
      EXPECT_GE(greedy, best);
      EXPECT_LE(greedy, 1.05 * best);
      EXPECT_LE(greedy, 0.9 * static_cast<double>(counts.all.loaded()));
      EXPECT_GT(counts.headroom, 0.1);
    }
  }
}

class SampledMatchTest : public testing::Test {
 protected:
  static constexpr uint32_t kNumNodes = 300;

  SampledMatchTest() {
    options_.sampling = {.fanouts = {4, 3}, .batch_size = 20, .seed = 5};
    options_.batches = 9;
    options_.window = 4;
    options_.trainers = 2;
    options_.caches = {0, 0.1};
    options_.dependencies = {1, 4};
  }
  SamplerInput input() const { return {graph_.view(), train_}; }
  std::vector<BatchRows> Batches(uint64_t seed, uint32_t dependency,
                                 uint64_t count) const {
    reference::Job job;
    job.train = train_;
    job.options = options_.sampling;
    job.options.seed = seed;
    job.options.batch_dependency = dependency;
    std::vector<BatchRows> batches;
    for (uint64_t seq = 0; seq < count; ++seq) {
      batches.push_back(
          reference::SampleBatch(graph_.lists(), job, seq).input_nodes);
    }
    return batches;
  }
  // Vertices by their counts in a pre-sampled epoch.
  std::vector<uint32_t> Ranks() const {
    std::vector<float> counts(kNumNodes);
    for (const BatchRows& batch :
         Batches(kPresampleSeed, 1, BatchesPerEpoch(train_.size(), 20))) {
      for (const GlobalId v : batch) ++counts[v];
    }
    const std::vector<GlobalId> order =
        OrderByHotness(counts, OutDegrees(graph_.view()).value());
    std::vector<uint32_t> ranks(kNumNodes);
    for (uint32_t rank = 0; rank < kNumNodes; ++rank) ranks[order[rank]] = rank;
    return ranks;
  }

  const reference::CscGraph graph_ = reference::RandomGraph(kNumNodes, 3);
  const std::vector<int64_t> train_ = reference::RandomTrainSet(kNumNodes, 3);
  MatchBenchOptions options_;
};

TEST_F(SampledMatchTest, CountsTheBatchesOfTheReference) {
  FGNN_ASSERT_OK_AND_ASSIGN(const MatchBenchResult result,
                            RunMatchBench(input(), options_));
  ASSERT_EQ(result.cases.size(), 4U);
  const std::vector<uint32_t> ranks = Ranks();
  const uint64_t per_epoch = BatchesPerEpoch(train_.size(), 20);
  WindowOverlap counter = CounterFor(kNumNodes);
  for (size_t i = 0; i < result.cases.size(); ++i) {
    const MatchCase& found = result.cases[i];
    EXPECT_EQ(found.dependency, options_.dependencies[i / 2]);
    EXPECT_EQ(found.cache, options_.caches[i % 2]);
    const std::vector<BatchRows> batches =
        Batches(5, found.dependency, 9 + kKnownBatches.back());
    const MatchCounts wanted = CountMatches(
        batches,
        {.num_batches = 9,
         .order = {.batches_per_epoch = per_epoch, .window = 4, .chains = 2},
         .ranks = ranks,
         .cached = i % 2 == 0 ? 0U : 30U},
        &counter);
    EXPECT_EQ(found.counts.all.input_nodes, wanted.all.input_nodes);
    EXPECT_EQ(found.counts.all.missed, wanted.all.missed);
    EXPECT_EQ(found.counts.all.kept, wanted.all.kept);
    EXPECT_EQ(found.counts.all.greedy, wanted.all.greedy);
    EXPECT_EQ(found.counts.trainers.size(), 2U);
    EXPECT_EQ(found.counts.mean_match, wanted.mean_match);
    EXPECT_EQ(found.counts.all.belady_hits, wanted.all.belady_hits);
  }
}

// Asks as a sampler does, over the end of an epoch.
TEST_F(SampledMatchTest, OrdersBatchesAsASamplerDoes) {
  SamplerOptions sampling = options_.sampling;
  sampling.batch_dependency = 4;
  const uint64_t per_epoch = BatchesPerEpoch(train_.size(), 20);
  const uint64_t num_batches = 2 * per_epoch;
  const std::vector<BatchRows> batches = Batches(5, 4, num_batches);
  WindowOverlap counter = CounterFor(kNumNodes);
  for (const uint32_t chains : {1, 3}) {
    const MatchedOrderOptions options = {
        .batches_per_epoch = per_epoch, .window = 5, .chains = chains};
    FGNN_ASSERT_OK_AND_ASSIGN(const auto order,
                              MatchedOrder::Create(input(), sampling, options));
    FGNN_ASSERT_OK_AND_ASSIGN(const auto sampler,
                              NewCpuSampler(input(), sampling));
    std::vector<size_t> wanted;
    for (uint64_t seq = 0; seq < num_batches; ++seq) {
      FGNN_ASSERT_OK_AND_ASSIGN(
          const BatchSeq drawn,
          order->DrawnOf(BatchSeq(seq), *sampler, absl::OkStatus));
      wanted.push_back(drawn.value());
    }
    EXPECT_EQ(MatchedBatches(batches, options, &counter), wanted);
    EXPECT_FALSE(std::is_sorted(wanted.begin(), wanted.end()));
  }
}

TEST_F(SampledMatchTest, IsTheSameForAnyThreads) {
  FGNN_ASSERT_OK_AND_ASSIGN(const MatchBenchResult one,
                            RunMatchBench(input(), options_));
  options_.threads = 3;
  FGNN_ASSERT_OK_AND_ASSIGN(const MatchBenchResult three,
                            RunMatchBench(input(), options_));
  for (size_t i = 0; i < one.cases.size(); ++i) {
    EXPECT_EQ(one.cases[i].counts.all.kept, three.cases[i].counts.all.kept);
    EXPECT_EQ(one.cases[i].counts.all.belady_hits,
              three.cases[i].counts.all.belady_hits);
  }
}

TEST_F(SampledMatchTest, LongWindowsHaveNoBestOrder) {
  options_.trainers = 1;
  options_.window = kMostBestWindow + 1;
  FGNN_ASSERT_OK_AND_ASSIGN(const MatchBenchResult result,
                            RunMatchBench(input(), options_));
  EXPECT_FALSE(result.cases[0].counts.best.has_value());
}

TEST_F(SampledMatchTest, RefusesListsByTheirFlag) {
  options_.caches = {0.1, 1.5};
  EXPECT_THAT(RunMatchBench(input(), options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--cache holds 1.5")));
  options_.caches = {0.1};
  options_.dependencies = {1, 0};
  EXPECT_THAT(RunMatchBench(input(), options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--dependency holds 0; give 1 to 65535")));
}

}  // namespace
}  // namespace fgnn
