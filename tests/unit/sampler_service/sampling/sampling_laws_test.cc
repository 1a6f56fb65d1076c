// What is random in every algorithm, against its law: chi-square at 1e-6.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "tests/unit/sampler_service/sampling/law_case.h"

namespace fgnn {
namespace {

using reference::CscGraph;
using reference::Job;

// Over epochs: how often each set of neighbours was drawn, in order.
std::map<std::vector<uint32_t>, uint64_t> CountOutcomes(SamplerCase& sampling,
                                                        uint64_t num_epochs) {
  std::map<std::vector<uint32_t>, uint64_t> counts;
  for (uint64_t epoch = 0; epoch < num_epochs; ++epoch) {
    const TaskView task = sampling.Task(BatchSeq(epoch));
    std::vector<uint32_t> drawn;
    for (const uint32_t local : task.hops[0].indices) {
      drawn.push_back(task.input_nodes[local]);
    }
    ++counts[drawn];
  }
  return counts;
}

// Odds of every ordered outcome of `fanout` successive draws.
std::map<std::vector<uint32_t>, double> SuccessiveDraws(
    const std::vector<float>& weights, size_t fanout, bool replace) {
  std::map<std::vector<uint32_t>, double> odds = {{{}, 1.0}};
  for (size_t draw = 0; draw < fanout; ++draw) {
    std::map<std::vector<uint32_t>, double> longer;
    for (const auto& [drawn, p] : odds) {
      const auto has = [&drawn = drawn, replace](uint32_t v) {
        return !replace && std::count(drawn.begin(), drawn.end(), v) > 0;
      };
      double left = 0;
      for (uint32_t v = 1; v <= weights.size(); ++v) {
        if (!has(v)) left += static_cast<double>(weights[v - 1]);
      }
      for (uint32_t v = 1; v <= weights.size(); ++v) {
        if (has(v) || weights[v - 1] == 0) continue;
        std::vector<uint32_t> next = drawn;
        next.push_back(v);
        longer[next] += p * static_cast<double>(weights[v - 1]) / left;
      }
    }
    odds = longer;
  }
  return odds;
}

void ExpectOdds(const std::map<std::vector<uint32_t>, uint64_t>& counts,
                const std::map<std::vector<uint32_t>, double>& odds,
                double num_trials) {
  double chi_square = 0;
  double rare = 0;  // Outcomes too rare to be told apart, as one.
  double rare_count = num_trials;
  double cells = 0;
  for (const auto& [outcome, p] : odds) {
    const double expected = p * num_trials;
    const auto at = counts.find(outcome);
    const double count =
        at == counts.end() ? 0 : static_cast<double>(at->second);
    if (expected < 10) {
      rare += expected;
      continue;
    }
    rare_count -= count;
    chi_square += (count - expected) * (count - expected) / expected;
    ++cells;
  }
  if (rare > 10) {
    chi_square += (rare_count - rare) * (rare_count - rare) / rare;
    ++cells;
  } else {
    EXPECT_LT(rare_count, 60);
  }
  EXPECT_LT(chi_square, ChiSquareLimit(cells - 1)) << cells << " cells";
  for (const auto& [outcome, count] : counts) {
    EXPECT_GT(odds.count(outcome), 0U)
        << "impossible: " << testing::PrintToString(outcome);
  }
}

// Weights for which attempts suffice, for which the race decides most, and in
// between: the order of the draws has the odds of successive draws in all.
TEST(WeightedLawTest, OutcomesHaveTheOddsOfSuccessiveDraws) {
  constexpr uint64_t kNumEpochs = 20000;
  const std::vector<float> cases[] = {{1, 1, 1, 1, 1},
                                      {1, 2, 3, 4, 5},
                                      {5, 0, 1, 0, 2, 2},
                                      {100, 1, 1, 1, 1, 1},
                                      {1e4F, 1e2F, 1, 1e-2F},
                                      {1, 1e6F, 1, 2, 3, 1e6F},
                                      {3e-38F, 1e-38F, 2e-38F, 4e-38F}};
  for (const std::vector<float>& weights : cases) {
    for (const bool replace : {false, true}) {
      for (const size_t fanout : {size_t{1}, size_t{2}, size_t{3}}) {
        SCOPED_TRACE(absl::StrCat("weights=", testing::PrintToString(weights),
                                  " fanout=", fanout, " replace=", replace));
        const CscGraph graph = Star(static_cast<uint32_t>(weights.size()));
        Job job =
            StarJob(SamplingAlgorithm::kWeighted, static_cast<int32_t>(fanout));
        job.options.replace = replace;
        job.weights = weights;
        SamplerCase sampling(graph, job);
        ExpectOdds(CountOutcomes(sampling, kNumEpochs),
                   SuccessiveDraws(weights, fanout, replace), kNumEpochs);
      }
    }
  }
}

// Counts of drawn neighbours in ten classes, as they lie, against `weights` of
// the classes.
void ExpectShares(const std::vector<double>& counts,
                  const std::vector<double>& weights) {
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  const double weight = std::accumulate(weights.begin(), weights.end(), 0.0);
  double chi_square = 0;
  for (size_t c = 0; c < counts.size(); ++c) {
    const double expected = total * weights[c] / weight;
    chi_square += (counts[c] - expected) * (counts[c] - expected) / expected;
  }
  EXPECT_LT(chi_square, ChiSquareLimit(static_cast<double>(counts.size() - 1)));
}

TEST(HubLawTest, AMillionNeighboursAreDrawnByTheirShares) {
  constexpr uint32_t kDegree = 1'000'000;
  const CscGraph graph = Star(kDegree);
  struct Case {
    SamplingAlgorithm algorithm;
    bool replace;
    uint64_t num_epochs;
  };
  for (const Case& c : {Case{SamplingAlgorithm::kUniform, false, 20000},
                        Case{SamplingAlgorithm::kUniform, true, 20000},
                        Case{SamplingAlgorithm::kWeighted, false, 20000},
                        Case{SamplingAlgorithm::kWeighted, true, 20000},
                        Case{SamplingAlgorithm::kLabor, false, 200}}) {
    SCOPED_TRACE(absl::StrCat(NameOf(c.algorithm), " replace=", c.replace));
    Job job = StarJob(c.algorithm, 10);
    job.options.replace = c.replace;
    std::vector<double> weights(10, 1);
    if (c.algorithm == SamplingAlgorithm::kWeighted) {
      std::iota(weights.begin(), weights.end(), 1);
      for (uint32_t i = 0; i < kDegree; ++i) {
        job.weights.push_back(static_cast<float>(weights[i / (kDegree / 10)]));
      }
    }
    SamplerCase sampling(graph, job);
    std::vector<double> counts(10);
    uint64_t repeats = 0;
    for (const auto& [drawn, count] : CountOutcomes(sampling, c.num_epochs)) {
      repeats +=
          drawn.size() - std::set<uint32_t>(drawn.begin(), drawn.end()).size();
      for (const uint32_t v : drawn) {
        counts[(v - 1) / (kDegree / 10)] += static_cast<double>(count);
      }
    }
    if (!c.replace) {
      EXPECT_EQ(repeats, 0U);
    }
    ExpectShares(counts, weights);
  }
}

TEST(LaborLawTest, EachEdgeHasTheOddsOfItsFanoutOverTheDegree) {
  constexpr uint64_t kNumEpochs = 40000;
  for (const uint32_t degree : {11U, 50U, 300U}) {
    SCOPED_TRACE(absl::StrCat("degree=", degree));
    const CscGraph graph = Star(degree);
    SamplerCase sampling(graph, StarJob(SamplingAlgorithm::kLabor, 10));
    std::vector<double> counts(degree + 1);
    double edges = 0;
    double edges_squared = 0;
    for (const auto& [drawn, count] : CountOutcomes(sampling, kNumEpochs)) {
      const auto size = static_cast<double>(drawn.size());
      edges += size * static_cast<double>(count);
      edges_squared += size * size * static_cast<double>(count);
      for (const uint32_t v : drawn) counts[v] += static_cast<double>(count);
    }
    const double p = 10.0 / degree;
    const double expected = kNumEpochs * p;
    double chi_square = 0;
    for (uint32_t v = 1; v <= degree; ++v) {
      chi_square += (counts[v] - expected) * (counts[v] - expected) /
                    (expected * (1 - p));
    }
    EXPECT_LT(chi_square, ChiSquareLimit(degree));
    // Edges are independent: their number is binomial. Five sigma each.
    const double mean = edges / kNumEpochs;
    const double variance = edges_squared / kNumEpochs - mean * mean;
    const double expected_variance = 10 * (1 - p);
    EXPECT_NEAR(mean, 10, 5 * std::sqrt(expected_variance / kNumEpochs));
    EXPECT_NEAR(variance, expected_variance,
                5 * expected_variance * std::sqrt(2.5 / kNumEpochs));
  }
}

// Two destinations of the same neighbours agree wherever their odds allow it.
TEST(LaborLawTest, DestinationsShareTheDiceOfTheirSources) {
  reference::AdjacencyLists lists(402);
  for (uint32_t i = 2; i < 402; ++i) {
    lists[0].push_back(i);
    if (i % 2 == 0) lists[1].push_back(i);
  }
  const CscGraph graph(lists);
  Job job = StarJob(SamplingAlgorithm::kLabor, 10);
  job.train = {0, 1};
  job.options.batch_size = 2;
  SamplerCase sampling(graph, job);
  uint64_t agreed = 0;
  for (uint64_t epoch = 0; epoch < 1000; ++epoch) {
    const TaskView task = sampling.Task(BatchSeq(epoch));
    const BlockView& hop = task.hops[0];
    // Odds are 10/400 at vertex 0 and 10/200 at vertex 1.
    const size_t of_0 = task.input_nodes[0] == 0 ? 0 : 1;
    std::set<uint32_t> drawn[2];
    for (size_t d = 0; d < 2; ++d) {
      for (uint32_t e = hop.indptr[d]; e < hop.indptr[d + 1]; ++e) {
        drawn[d == of_0 ? 0 : 1].insert(task.input_nodes[hop.indices[e]]);
      }
    }
    for (const uint32_t v : drawn[0]) {
      if (v % 2 != 0) continue;
      EXPECT_EQ(drawn[1].count(v), 1U);
      ++agreed;
    }
  }
  EXPECT_GT(agreed, 4000U);
}

// The chain of a walk by its transition matrix, against counted visits.
TEST(RandomWalkLawTest, VisitsHaveTheOddsOfTheChain) {
  constexpr uint64_t kNumEpochs = 40000;
  constexpr uint32_t kLength = 4;
  constexpr double kRestart = 0.25;
  const reference::AdjacencyLists lists = {
      {1, 2, 2, 3}, {0, 2}, {3, 4, 0}, {}, {4, 1}};
  const CscGraph graph(lists);
  Job job = StarJob(SamplingAlgorithm::kRandomWalk, 5);
  job.options.walks = {.num_walks = 1, .length = kLength, .restart = kRestart};
  SamplerCase sampling(graph, job);
  // visits[v][k]: odds that one walk visits v exactly k times, by enumeration.
  std::vector<std::vector<double>> odds(5, std::vector<double>(kLength + 1));
  const std::function<void(uint32_t, uint32_t, double, std::vector<uint32_t>)>
      walk = [&](uint32_t at, uint32_t step, double p,
                 std::vector<uint32_t> visits) {
        const auto end = [&](double p_end) {
          for (uint32_t v = 0; v < 5; ++v) odds[v][visits[v]] += p_end;
        };
        if (step == kLength || lists[at].empty()) return end(p);
        const double goes_on = step == 0 ? 1 : 1 - kRestart;
        end(p * (1 - goes_on));
        for (const uint32_t next : lists[at]) {
          std::vector<uint32_t> more = visits;
          ++more[next];
          walk(next, step + 1,
               p * goes_on / static_cast<double>(lists[at].size()), more);
        }
      };
  walk(0, 0, 1, std::vector<uint32_t>(5));
  std::vector<std::vector<double>> counts(5, std::vector<double>(kLength + 1));
  for (uint64_t epoch = 0; epoch < kNumEpochs; ++epoch) {
    const TaskView task = sampling.Task(BatchSeq(epoch));
    std::vector<uint32_t> visits(5);
    for (size_t e = 0; e < task.hops[0].indices.size(); ++e) {
      visits[task.input_nodes[task.hops[0].indices[e]]] =
          static_cast<uint32_t>(task.hops[0].weights[e]);
    }
    for (uint32_t v = 0; v < 5; ++v) ++counts[v][visits[v]];
  }
  for (uint32_t v = 0; v < 5; ++v) {
    SCOPED_TRACE(absl::StrCat("vertex=", v));
    double chi_square = 0;
    double cells = 0;
    for (uint32_t k = 0; k <= kLength; ++k) {
      const double expected = odds[v][k] * kNumEpochs;
      if (expected < 5) {
        EXPECT_LT(counts[v][k], 40);
        continue;
      }
      chi_square +=
          (counts[v][k] - expected) * (counts[v][k] - expected) / expected;
      ++cells;
    }
    ASSERT_GT(cells, 1);
    EXPECT_LT(chi_square, ChiSquareLimit(cells - 1));
  }
}

// Whether a neighbour is drawn says nothing of the next batch, nor of the next
// hop.
TEST(IndependenceTest, OfBatchesAndHops) {
  constexpr uint64_t kNumEpochs = 40000;
  reference::AdjacencyLists lists(13);
  for (uint32_t i = 1; i <= 12; ++i) lists[0].push_back(i);
  const CscGraph graph(lists);
  for (const SamplingAlgorithm algorithm :
       {SamplingAlgorithm::kUniform, SamplingAlgorithm::kWeighted,
        SamplingAlgorithm::kLabor}) {
    SCOPED_TRACE(static_cast<int>(algorithm));
    Job job = StarJob(algorithm, 6);
    job.options.fanouts = {6, 6};
    job.weights.assign(12, 1.0F);
    SamplerCase sampling(graph, job);
    // [0]: the hop before, [1]: the batch before. [was][is].
    double counts[2][2][2] = {};
    bool before = false;
    for (uint64_t epoch = 0; epoch < kNumEpochs; ++epoch) {
      const TaskView task = sampling.Task(BatchSeq(epoch));
      bool drawn[2] = {};
      for (size_t h = 0; h < 2; ++h) {
        const BlockView& hop = task.hops[h];
        for (uint32_t e = 0; e < hop.indptr[1]; ++e) {
          drawn[h] |= task.input_nodes[hop.indices[e]] == 7;
        }
      }
      ++counts[0][drawn[0]][drawn[1]];
      if (epoch > 0) ++counts[1][before][drawn[0]];
      before = drawn[0];
    }
    for (const auto& table : counts) EXPECT_LT(ChiSquareOf(table), kFactLimit);
  }
}

}  // namespace
}  // namespace fgnn
