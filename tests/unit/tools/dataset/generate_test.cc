#include "tools/dataset/generating/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shared/graph/dataset.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/tools/dataset/generated_graph.h"

namespace fgnn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

std::string ReadAll(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(GenerateRmatTest, MakesASymmetricGraphWithoutLoopsAndRepeats) {
  const TempFolder folder;
  FGNN_ASSERT_OK_AND_ASSIGN(const GenerateSummary summary,
                            GenerateRmat(SmallRmat(folder / "r")));
  const Dataset dataset = Open(folder / "r");
  EXPECT_EQ(dataset.num_nodes(), 4096U);
  EXPECT_EQ(dataset.num_edges(), summary.edges.num_edges);
  EXPECT_EQ(summary.edges.num_edges + summary.edges.num_merged,
            2 * (8 * 4096 - summary.edges.num_self_loops));
  std::map<std::pair<uint32_t, uint32_t>, float> weights;
  ForEachEdge(dataset, [&](uint32_t u, uint32_t v, size_t e) {
    EXPECT_NE(u, v);
    EXPECT_TRUE(
        weights.emplace(std::pair(u, v), dataset.edge_weights()[e]).second);
  });
  for (const auto& [edge, weight] : weights) {
    const auto back = weights.find({edge.second, edge.first});
    ASSERT_NE(back, weights.end());
    ASSERT_EQ(back->second, weight);
    ASSERT_GT(weight, 0);
    ASSERT_LE(weight, 1);
  }
}

TEST(GenerateRmatTest, DegreesAreSkewedAndIdsDoNotTellThem) {
  const TempFolder folder;
  FGNN_ASSERT_OK(GenerateRmat(SmallRmat(folder / "r")).status());
  const Dataset dataset = Open(folder / "r");
  const double mean = static_cast<double>(dataset.num_edges()) / 4096;
  EXPECT_GT(static_cast<double>(MaxInDegree(dataset.graph())), 15 * mean);
  // Unpermuted, the lower half would have three quarters of the edges.
  const double low = static_cast<double>(dataset.graph().indptr[2048]) /
                     static_cast<double>(dataset.num_edges());
  EXPECT_NEAR(low, 0.5, 0.1);
}

TEST(GenerateRmatTest, KeepsDirectionsWhenAsked) {
  const TempFolder folder;
  RmatOptions options = SmallRmat(folder / "r");
  options.directed = true;
  FGNN_ASSERT_OK_AND_ASSIGN(const GenerateSummary summary,
                            GenerateRmat(options));
  EXPECT_EQ(summary.edges.num_edges + summary.edges.num_merged,
            8 * 4096 - summary.edges.num_self_loops);
  const Dataset dataset = Open(folder / "r");
  std::set<std::pair<uint32_t, uint32_t>> edges;
  ForEachEdge(dataset,
              [&](uint32_t u, uint32_t v, size_t) { edges.emplace(u, v); });
  const auto both = std::count_if(edges.begin(), edges.end(), [&](auto edge) {
    return edges.contains({edge.second, edge.first});
  });
  EXPECT_LT(static_cast<size_t>(both), edges.size() / 2);
}

TEST(GenerateRmatTest, SplitsByTheShareAsked) {
  const TempFolder folder;
  RmatOptions options = SmallRmat(folder / "r");
  options.common.train_fraction = 0.25;
  FGNN_ASSERT_OK(GenerateRmat(options).status());
  const Dataset dataset = Open(folder / "r");
  EXPECT_EQ(dataset.train().size(), 1024U);
  EXPECT_EQ(dataset.valid().size(), 1536U);
  EXPECT_EQ(dataset.test().size(), 1536U);
}

TEST(GenerateRmatTest, MakesTopologyAloneWhenAsked) {
  const TempFolder folder;
  RmatOptions options = SmallRmat(folder / "r");
  options.common.feature_columns = 0;
  options.common.num_classes = 0;
  options.weights = false;
  FGNN_ASSERT_OK(GenerateRmat(options).status());
  std::set<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder / "r")) {
    files.insert(entry.path().filename().string());
  }
  EXPECT_EQ(files, (std::set<std::string>{"metadata.yaml", "csc_indptr.npy",
                                          "indices.npy"}));
}

// The same bytes from any number of threads, other bytes from another seed.
TEST(GenerateTest, DependsOnTheSeedAndNotOnThreads) {
  const TempFolder folder;
  RmatOptions options = SmallRmat(folder / "one");
  options.scale = 16;  // Several chunks of each kind of work.
  options.edge_factor = 12;
  options.common.feature_columns = 50;
  options.common.threads = 1;
  FGNN_ASSERT_OK(GenerateRmat(options).status());
  options.common.out = folder / "five";
  options.common.threads = 5;
  FGNN_ASSERT_OK(GenerateRmat(options).status());
  options.common.out = folder / "other";
  options.common.seed = 8;
  FGNN_ASSERT_OK(GenerateRmat(options).status());
  for (const char* file :
       {"csc_indptr.npy", "indices.npy", "edge_weights.npy", "features.npy",
        "labels.npy", "train.npy", "valid.npy", "test.npy"}) {
    const std::string bytes = ReadAll(folder / "one" / file);
    EXPECT_TRUE(bytes == ReadAll(folder / "five" / file)) << file;
    EXPECT_TRUE(bytes != ReadAll(folder / "other" / file)) << file;
  }
}

TEST(GenerateTest, FeaturesHaveUnitVarianceInEachType) {
  const TempFolder folder;
  RmatOptions options = SmallRmat(folder / "f32");
  FGNN_ASSERT_OK(GenerateRmat(options).status());
  const Dataset plain = Open(folder / "f32");
  const auto* values = reinterpret_cast<const float*>(plain.features().data);
  const size_t count = 4096 * 10;
  double sum = 0;
  double squares = 0;
  for (size_t i = 0; i < count; ++i) {
    sum += values[i];
    squares += double{values[i]} * values[i];
  }
  EXPECT_NEAR(sum / count, 0, 0.2);
  EXPECT_NEAR(squares / count, 1, 0.2);

  options.common.out = folder / "bf16";
  options.common.feature_type = FeatureType::kBfloat16;
  FGNN_ASSERT_OK(GenerateRmat(options).status());
  const Dataset half = Open(folder / "bf16");
  const auto* bits = reinterpret_cast<const uint16_t*>(half.features().data);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t wide = uint32_t{bits[i]} << 16;
    float value = 0;
    std::memcpy(&value, &wide, sizeof(value));
    ASSERT_NEAR(value, values[i], std::abs(values[i]) / 128 + 1e-6);
  }
  options.common.out = folder / "f16";
  options.common.feature_type = FeatureType::kFloat16;
  FGNN_ASSERT_OK(GenerateRmat(options).status());
  EXPECT_EQ(Open(folder / "f16").features().type, FeatureType::kFloat16);
}

TEST(GenerateSbmTest, KeepsToDegreeHomophilyAndClassSizes) {
  const TempFolder folder;
  FGNN_ASSERT_OK(GenerateSbm(SmallSbm(folder / "s")).status());
  const Dataset dataset = Open(folder / "s");
  // A few draws repeat.
  EXPECT_NEAR(static_cast<double>(dataset.num_edges()) / 5000, 12, 0.2);
  size_t same = 0;
  ForEachEdge(dataset, [&](uint32_t u, uint32_t v, size_t) {
    EXPECT_NE(u, v);
    same += static_cast<size_t>(dataset.labels()[u] == dataset.labels()[v]);
  });
  EXPECT_NEAR(
      static_cast<double>(same) / static_cast<double>(dataset.num_edges()), 0.8,
      0.02);
  std::map<int64_t, int> sizes;
  for (const int64_t label : dataset.labels()) ++sizes[label];
  EXPECT_EQ(sizes.size(), 5U);
  for (const auto& [label, size] : sizes) EXPECT_EQ(size, 1000) << label;
}

TEST(GenerateTest, ReportsStagesThatReachTheirEnd) {
  const TempFolder folder;
  SbmOptions options = SmallSbm(folder / "s");
  std::map<std::string, std::pair<uint64_t, uint64_t>> last;
  options.common.progress = [&last](std::string_view stage, uint64_t done,
                                    uint64_t total) {
    auto& entry = last[std::string(stage)];
    EXPECT_GE(done, entry.first);
    entry = {done, total};
  };
  FGNN_ASSERT_OK(GenerateSbm(options).status());
  for (const char* stage : {"edges", "sorting edges", "features"}) {
    EXPECT_GT(last[stage].second, 0U) << stage;
    EXPECT_EQ(last[stage].first, last[stage].second) << stage;
  }
}

TEST(GenerateTest, RefusesWrongOptionsNamingTheFlagAndLeavesNothing) {
  const TempFolder folder;
  const std::vector<std::pair<std::string, std::function<void(RmatOptions&)>>>
      rmat = {{"--scale is 32", [](auto& o) { o.scale = 32; }},
              {"--scale is 0", [](auto& o) { o.scale = 0; }},
              {"--edge-factor is 0", [](auto& o) { o.edge_factor = 0; }},
              {"--a --b --c", [](auto& o) { o.a = 0.9; }},
              {"--a --b --c", [](auto& o) { o.b = std::nan(""); }},
              {"--train-fraction is 1.5",
               [](auto& o) { o.common.train_fraction = 1.5; }},
              {"--feature-noise is -1",
               [](auto& o) { o.common.feature_noise = -1; }},
              {"--features is 65537",
               [](auto& o) { o.common.feature_columns = 65537; }},
              {"--classes is 65537",
               [](auto& o) { o.common.num_classes = 65537; }}};
  for (const auto& [message, spoil] : rmat) {
    RmatOptions options = SmallRmat(folder / "r");
    spoil(options);
    EXPECT_THAT(GenerateRmat(options),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(message), HasSubstr("must be"))));
  }
  const std::vector<std::pair<std::string, std::function<void(SbmOptions&)>>>
      sbm = {{"--classes is 0", [](auto& o) { o.common.num_classes = 0; }},
             {"--nodes is 9", [](auto& o) { o.num_nodes = 9; }},
             {"--average-degree is 0", [](auto& o) { o.average_degree = 0; }},
             {"--average-degree is 2501",
              [](auto& o) { o.average_degree = 2501; }},
             {"--homophily is 1.1", [](auto& o) { o.homophily = 1.1; }}};
  for (const auto& [message, spoil] : sbm) {
    SbmOptions options = SmallSbm(folder / "s");
    spoil(options);
    EXPECT_THAT(GenerateSbm(options),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(message), HasSubstr("must be"))));
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

}  // namespace
}  // namespace fgnn
