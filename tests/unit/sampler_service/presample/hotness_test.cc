#include "sampler_service/presample/hotness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "tests/fakes/status_matchers.h"
#include "tests/reference/random_graph.h"

namespace fgnn {
namespace {

using reference::CscGraph;
using reference::RandomGraph;
using testing::ElementsAre;
using testing::ElementsAreArray;

TEST(OrderByHotnessTest, FallsAndTiesGoByDegreeThenId) {
  EXPECT_THAT(OrderByHotness({1, 0, 5, 1, 0, 1}, {2, 0, 1, 9, 0, 2}),
              ElementsAre(2, 3, 0, 5, 1, 4));
  EXPECT_THAT(OrderByHotness({}, {}), ElementsAre());
}

TEST(OrderByHotnessTest, KnowsEveryFiniteFloat) {
  const std::vector<float> hotness = {-1, 1e-40F, 0, 3e38F, -2, 0.5F, 1e-38F};
  EXPECT_THAT(OrderByHotness(hotness, std::vector<uint32_t>(hotness.size())),
              ElementsAre(3, 5, 6, 1, 2, 0, 4));
}

TEST(OrderByHotnessTest, SortsAsAStableSortDoes) {
  reference::TestDraws draws(4);
  std::vector<float> hotness(2000);
  std::vector<uint32_t> degrees(hotness.size());
  for (size_t v = 0; v < hotness.size(); ++v) {
    hotness[v] = static_cast<float>(draws.Below(20));
    degrees[v] = static_cast<uint32_t>(draws.Below(5));
  }
  std::vector<GlobalId> expected(hotness.size());
  std::iota(expected.begin(), expected.end(), 0);
  std::stable_sort(expected.begin(), expected.end(),
                   [&](GlobalId a, GlobalId b) {
                     return std::pair(hotness[a], degrees[a]) >
                            std::pair(hotness[b], degrees[b]);
                   });
  EXPECT_THAT(OrderByHotness(hotness, degrees), ElementsAreArray(expected));
}

TEST(OutDegreesTest, CountsHowOftenAVertexIsAnInNeighbour) {
  for (const bool wide : {false, true}) {
    const CscGraph graph = RandomGraph(150, 11);
    std::vector<uint32_t> expected(150);
    for (const std::vector<uint32_t>& list : graph.lists()) {
      for (const uint32_t u : list) ++expected[u];
    }
    FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<uint32_t> degrees,
                              OutDegrees(graph.view(wide)));
    EXPECT_THAT(degrees, ElementsAreArray(expected));
  }
}

TEST(OutDegreesTest, RefusesAnIndexThatIsNoVertex) {
  const CscGraph graph({{0, 1}, {7}, {}});
  EXPECT_THAT(OutDegrees(graph.view()),
              InvalidArgument(" is 7, but the graph has"));
}

TEST(RandomHotnessTest, DependsOnSeedAndVertexAlone) {
  const std::vector<float> some = RandomHotness(100, 5);
  std::vector<float> more = RandomHotness(1000, 5);
  EXPECT_NE(RandomHotness(100, 6), some);
  more.resize(100);
  EXPECT_EQ(more, some);
  EXPECT_THAT(some, testing::Each(
                        testing::AllOf(testing::Ge(0.0F), testing::Lt(1.0F))));
  EXPECT_GT(std::set<float>(some.begin(), some.end()).size(), 95U);
}

TEST(HotnessPolicyTest, NamesGoBothWays) {
  EXPECT_THAT(HotnessPolicies(),
              ElementsAre("presc", "degree", "random", "optimal", "online",
                          "vip", "auto", "plugin"));
  for (const std::string& name : HotnessPolicies()) {
    FGNN_ASSERT_OK_AND_ASSIGN(const HotnessPolicy policy,
                              HotnessPolicyOf(name));
    EXPECT_EQ(NameOf(policy), name);
  }
  EXPECT_THAT(HotnessPolicyOf("lru"),
              InvalidArgument("'lru' is no cache policy; this build has "
                              "presc, degree"));
}

// Everything that any policy looks at.
std::vector<HotnessSource> SourcesThatDiffer(const HotnessSource& source) {
  const std::vector<std::function<void(HotnessSource&)>> changes = {
      [](HotnessSource& s) {
        s.sampling.algorithm = SamplingAlgorithm::kLabor;
      },
      [](HotnessSource& s) {
        s.sampling.fanouts = {10, 15};
      },
      [](HotnessSource& s) {
        s.sampling.fanouts = {15, 10, 5};
      },
      [](HotnessSource& s) {
        s.sampling.fanouts = {1, 510};
      },
      [](HotnessSource& s) { s.sampling.replace = true; },
      [](HotnessSource& s) { s.sampling.resample = false; },
      [](HotnessSource& s) { s.sampling.batch_size = 1000; }};
  std::vector<HotnessSource> sources(changes.size(), source);
  for (size_t i = 0; i < changes.size(); ++i) changes[i](sources[i]);
  return sources;
}

TEST(HotnessKeyTest, IsOfAllThatAnOrderDependsOn) {
  std::set<uint64_t> keys;
  size_t num_sources = 0;
  for (const HotnessPolicy policy :
       {HotnessPolicy::kPresc, HotnessPolicy::kOptimal, HotnessPolicy::kVip,
        HotnessPolicy::kAuto}) {
    HotnessSource source;
    source.policy = policy;
    source.sampling.fanouts = {15, 10};
    std::vector<HotnessSource> sources = SourcesThatDiffer(source);
    sources.push_back(source);
    source.sampling.algorithm = SamplingAlgorithm::kWeighted;
    for (const std::string file : {"edge_weights.npy", "years.npy"}) {
      source.weights_file = file;
      sources.push_back(source);
    }
    source.sampling.algorithm = SamplingAlgorithm::kPlugin;
    for (const std::string name : {"a", "b"}) {
      source.plugin = name;
      sources.push_back(source);
    }
    source.sampling.algorithm = SamplingAlgorithm::kRandomWalk;
    for (const WalkOptions& walks :
         {WalkOptions{}, WalkOptions{.num_walks = 5}, WalkOptions{.length = 5},
          WalkOptions{.restart = std::nextafter(0.5, 1.0)}}) {
      source.sampling.walks = walks;
      sources.push_back(source);
    }
    if (policy != HotnessPolicy::kVip) {
      source.num_epochs = 2;
      sources.push_back(source);
    }
    for (const HotnessSource& s : sources) keys.insert(HotnessKey(s));
    num_sources += sources.size();
  }
  EXPECT_EQ(keys.size(), num_sources);
}

TEST(HotnessKeyTest, IsOfNothingElse) {
  HotnessSource source;
  source.sampling.fanouts = {15, 10};
  HotnessSource other = source;
  other.sampling.seed = 77;
  other.sampling.job_key = 77;
  other.sampling.walks.length = 9;  // Of walks alone.
  other.weights_file = "years.npy";
  other.plugin = "a";
  other.sampling.batch_dependency = 8;  // Of the job's own batches alone.
  EXPECT_EQ(HotnessKey(source), HotnessKey(other));
  source.policy = other.policy = HotnessPolicy::kOptimal;
  EXPECT_NE(HotnessKey(source), HotnessKey(other)) << "the seed counts";
  source.policy = other.policy = HotnessPolicy::kDegree;
  other.sampling.fanouts = {5};
  other.num_epochs = 4;
  EXPECT_EQ(HotnessKey(source), HotnessKey(other));
}

TEST(HotnessKeyTest, IsOfTheWindowsOfTheJobsOwnBatches) {
  HotnessSource source;
  source.sampling.fanouts = {15, 10};
  HotnessSource other = source;
  other.sampling.batch_dependency = 8;
  for (const std::string& name : HotnessPolicies()) {
    SCOPED_TRACE(name);
    FGNN_ASSERT_OK_AND_ASSIGN(source.policy, HotnessPolicyOf(name));
    other.policy = source.policy;
    EXPECT_EQ(HotnessKey(source) != HotnessKey(other),
              name == "optimal" || name == "online");
  }
}

}  // namespace
}  // namespace fgnn
