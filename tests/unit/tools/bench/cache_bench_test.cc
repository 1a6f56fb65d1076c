#include "tools/bench/cache_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/fakes/status_matchers.h"
#include "tests/reference/random_graph.h"
#include "tests/reference/sampling_reference.h"

namespace fgnn {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;

constexpr uint32_t kCachedGraphNodes = 300;

class CacheBenchTest : public testing::Test {
 protected:
  CacheBenchTest() {
    options_.sampling = {.fanouts = {4, 3}, .batch_size = 20, .seed = 5};
    options_.capacities = {0, 0.05, 0.5, 1};
    options_.epochs = 3;
  }

  SamplerInput input() const { return {graph_.view(), train_}; }

  void AddPolicies(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      FGNN_ASSERT_OK_AND_ASSIGN(CachePolicy policy, CachePolicyOf(word));
      options_.policies.push_back(policy);
    }
  }

  // By the reference, of whole epochs.
  std::vector<uint32_t> Counts(uint64_t seed, uint32_t begin,
                               uint32_t end) const {
    reference::Job job;
    job.train = train_;
    job.options = options_.sampling;
    job.options.seed = seed;
    const uint64_t per_epoch =
        BatchesPerEpoch(train_.size(), job.options.batch_size);
    std::vector<uint32_t> counts(kCachedGraphNodes);
    for (uint64_t seq = begin * per_epoch; seq < end * per_epoch; ++seq) {
      for (const uint32_t v :
           reference::SampleBatch(graph_.lists(), job, seq).input_nodes) {
        ++counts[v];
      }
    }
    return counts;
  }

  // Vertices by falling counts, then out-degree, then id.
  std::vector<uint32_t> Ranked(const std::vector<uint32_t>& counts) const {
    std::vector<uint32_t> degrees(kCachedGraphNodes);
    for (const auto& list : graph_.lists()) {
      for (const uint32_t u : list) ++degrees[u];
    }
    std::vector<uint32_t> order(kCachedGraphNodes);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(counts[a], degrees[a]) >
             std::pair(counts[b], degrees[b]);
    });
    return order;
  }

  std::vector<double> HitRates(const std::vector<uint32_t>& ranked_by) const {
    const std::vector<uint32_t> accessed =
        Counts(options_.sampling.seed, 0, options_.epochs);
    const std::vector<uint32_t> order = Ranked(ranked_by);
    std::vector<double> rates;
    for (const double capacity : options_.capacities) {
      double hits = 0;
      for (size_t i = 0; i < static_cast<size_t>(capacity * kCachedGraphNodes);
           ++i) {
        hits += accessed[order[i]];
      }
      rates.push_back(hits /
                      std::accumulate(accessed.begin(), accessed.end(), 0.0));
    }
    return rates;
  }

  const reference::CscGraph graph_ =
      reference::RandomGraph(kCachedGraphNodes, 3);
  const std::vector<int64_t> train_ =
      reference::RandomTrainSet(kCachedGraphNodes, 3);
  CacheBenchOptions options_;
};

TEST_F(CacheBenchTest, HitsAreThoseOfTheReference) {
  AddPolicies({"presc", "presc#1", "optimal", "degree"});
  options_.presample_epochs = 2;
  FGNN_ASSERT_OK_AND_ASSIGN(const CacheBenchResult result,
                            RunCacheBench(input(), options_));
  const auto near = [](const std::vector<double>& rates) {
    return Pointwise(DoubleNear(1e-12), rates);
  };
  ASSERT_EQ(result.policies.size(), 4U);
  EXPECT_EQ(result.policies[0].policy, "presc");
  EXPECT_EQ(result.policies[0].num_epochs, 2U);
  EXPECT_THAT(result.policies[0].hit_rates,
              near(HitRates(Counts(kPresampleSeed, 0, 2))));
  EXPECT_EQ(result.policies[1].num_epochs, 1U);
  EXPECT_THAT(result.policies[1].hit_rates,
              near(HitRates(Counts(kPresampleSeed, 0, 1))));
  const std::vector<double> best = HitRates(Counts(5, 0, 3));
  EXPECT_THAT(result.policies[2].hit_rates, near(best));
  EXPECT_THAT(result.optimal_hit_rates, near(best));
  EXPECT_THAT(result.policies[3].hit_rates,
              near(HitRates(std::vector<uint32_t>(kCachedGraphNodes))));
  const std::vector<uint32_t> accessed = Counts(5, 0, 3);
  EXPECT_DOUBLE_EQ(result.input_nodes,
                   std::accumulate(accessed.begin(), accessed.end(), 0.0) / 3);
}

TEST_F(CacheBenchTest, SimilarityIsThePapersOfAdjacentEpochs) {
  double sum = 0;
  for (uint32_t epoch = 1; epoch < 3; ++epoch) {
    const std::vector<uint32_t> before = Counts(5, epoch - 1, epoch);
    const std::vector<uint32_t> now = Counts(5, epoch, epoch + 1);
    std::vector<uint32_t> hot = Ranked(now);
    std::vector<uint32_t> was_hot = Ranked(before);
    hot.resize(kCachedGraphNodes / 10);
    was_hot.resize(kCachedGraphNodes / 10);
    double both = 0;
    double all = 0;
    for (const uint32_t v : hot) {
      all += now[v];
      if (std::count(was_hot.begin(), was_hot.end(), v) > 0) {
        both += std::min(before[v], now[v]);
      }
    }
    sum += both / all;
  }
  FGNN_ASSERT_OK_AND_ASSIGN(CacheBenchResult result,
                            RunCacheBench(input(), options_));
  EXPECT_DOUBLE_EQ(*result.similarity, sum / 2);
  options_.epochs = 1;
  FGNN_ASSERT_OK_AND_ASSIGN(result, RunCacheBench(input(), options_));
  EXPECT_FALSE(result.similarity.has_value());
}

TEST_F(CacheBenchTest, EveryPolicyIsTheSameForAnyThreads) {
  AddPolicies({"presc#3", "random", "vip", "auto", "auto#4"});
  std::vector<CacheBenchResult> results;
  for (const uint32_t threads : {1, 3}) {
    options_.threads = threads;
    FGNN_ASSERT_OK_AND_ASSIGN(CacheBenchResult result,
                              RunCacheBench(input(), options_));
    results.push_back(std::move(result));
  }
  for (size_t i = 0; i < options_.policies.size(); ++i) {
    SCOPED_TRACE(options_.policies[i].name);
    const CachePolicyResult& policy = results[0].policies[i];
    EXPECT_EQ(policy.hit_rates, results[1].policies[i].hit_rates);
    EXPECT_EQ(policy.hit_rates.front(), 0);
    EXPECT_EQ(policy.hit_rates.back(), 1);
    for (size_t c = 0; c < policy.hit_rates.size(); ++c) {
      EXPECT_LE(policy.hit_rates[c], results[0].optimal_hit_rates[c]);
    }
    ASSERT_EQ(policy.curve.size(), kCachePoints);
    EXPECT_EQ(policy.curve[50], policy.hit_rates[2]);
    EXPECT_TRUE(std::is_sorted(policy.curve.begin(), policy.curve.end()));
  }
  EXPECT_LE(results[0].policies[4].num_epochs, 4U);
  EXPECT_NE(results[0].policies[3].estimator, "");
}

TEST_F(CacheBenchTest, RefusesCapacitiesThatAreNoShares) {
  for (const double capacity : {-0.1, 1.5}) {
    options_.capacities = {capacity};
    EXPECT_THAT(RunCacheBench(input(), options_),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("--capacities holds")));
  }
}

TEST(CachePolicyTest, RefusesWordsThatAreNone) {
  for (const std::string word : {"lru", "", "presc#", "presc#0", "presc#-1",
                                 "presc#x", "degree#2", "auto#1", "#1"}) {
    SCOPED_TRACE(word);
    EXPECT_THAT(CachePolicyOf(word),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("--policies: ")));
  }
  FGNN_ASSERT_OK_AND_ASSIGN(const CachePolicy policy,
                            CachePolicyOf("presc#12"));
  EXPECT_EQ(policy.num_epochs, 12U);
  EXPECT_EQ(policy.policy, HotnessPolicy::kPresc);
}

}  // namespace
}  // namespace fgnn
