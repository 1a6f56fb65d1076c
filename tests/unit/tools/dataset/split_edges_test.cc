#include "tools/dataset/building/split_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

#include "shared/graph/dataset.h"
#include "shared/graph/metadata.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tools/dataset/building/csc_builder.h"
#include "tools/dataset/building/dataset_writer.h"
#include "tools/dataset/generating/generate.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using EdgeSet = std::multiset<std::pair<uint64_t, uint64_t>>;

EdgeSet SetOf(const EdgeView& edges) {
  EdgeSet all;
  for (uint64_t i = 0; i < edges.size(); ++i) {
    all.emplace(edges[i].source, edges[i].destination);
  }
  return all;
}

class SplitEdgesTest : public testing::Test {
 protected:
  void MakeGraph(bool directed) {
    RmatOptions options;
    options.common.out = folder_ / "whole";
    options.common.feature_columns = 4;
    options.common.num_classes = 5;
    options.scale = 10;
    options.edge_factor = 8;
    options.directed = directed;
    options.weights = true;
    FGNN_ASSERT_OK(GenerateRmat(options).status());
  }

  SplitEdgesOptions Options(const std::string& out) const {
    SplitEdgesOptions options;
    options.dataset = folder_ / "whole";
    options.out = folder_ / out;
    options.valid = 0.1;
    options.test = 0.2;
    options.seed = 4;
    return options;
  }

  static Dataset Open(const fs::path& folder) {
    auto dataset = Dataset::Open(folder, Validation::kEverything);
    EXPECT_THAT(dataset, IsOk());
    return *std::move(dataset);
  }

  TempFolder folder_;
};

TEST_F(SplitEdgesTest, EveryEdgeIsInOneFileAndTrainingEdgesAreTheGraph) {
  for (const bool directed : {false, true}) {
    SCOPED_TRACE(directed);
    if (directed) fs::remove_all(folder_ / "whole");
    MakeGraph(directed);
    const std::string out = directed ? "directed" : "symmetric";
    FGNN_ASSERT_OK_AND_ASSIGN(const SplitEdgesSummary summary,
                              SplitEdges(Options(out)));
    const Dataset whole = Open(folder_ / "whole");
    const Dataset split = Open(folder_ / out);
    const EdgeSet train = SetOf(split.train_edges());
    const EdgeSet valid = SetOf(split.valid_edges());
    const EdgeSet test = SetOf(split.test_edges());
    EXPECT_EQ(train.size(), summary.num_train);
    EXPECT_EQ(valid.size(), summary.num_valid);
    EXPECT_EQ(test.size(), summary.num_test);
    EXPECT_EQ(SetOf(EdgeView(&split.graph())), train);
    EdgeSet all = train;
    all.insert(valid.begin(), valid.end());
    all.insert(test.begin(), test.end());
    EXPECT_EQ(all, SetOf(whole.train_edges()));
    // Both directions of a symmetric graph go together.
    for (const auto& [source, destination] : valid) {
      if (directed) break;
      EXPECT_EQ(valid.count({destination, source}), 1U);
    }
    EXPECT_EQ(ReadMetadata(folder_ / out).value().symmetric, !directed);
    // Six standard deviations of the binomial, in pairs of edges.
    const auto edges = static_cast<double>(all.size());
    EXPECT_NEAR(static_cast<double>(test.size()), 0.2 * edges,
                6 * std::sqrt(0.2 * 0.8 * 2 * edges));
    EXPECT_EQ(split.num_edges(), split.edge_weights().size());
    EXPECT_TRUE(std::equal(split.labels().begin(), split.labels().end(),
                           whole.labels().begin(), whole.labels().end()));
    EXPECT_EQ(split.features().rows, whole.num_nodes());
  }
}

// Every edge between two vertices is one and the same to a model that scores
// pairs, however often and in which direction the graph has it.
TEST_F(SplitEdgesTest, APairIsTakenOutWholeWhateverTheMetadataSays) {
  constexpr GlobalId kNodes = 300;
  FGNN_ASSERT_OK_AND_ASSIGN(DatasetWriter writer,
                            DatasetWriter::Create(folder_ / "whole"));
  FGNN_ASSERT_OK_AND_ASSIGN(
      const auto builder,
      CscBuilder::Create(writer.folder(), {.deduplicate = false}));
  for (GlobalId v = 0; v < kNodes; ++v) {
    // Edges once, both ways, more than once, and a self-loop.
    FGNN_ASSERT_OK(builder->Add(v, (v + 1) % kNodes));
    FGNN_ASSERT_OK(builder->Add(v, (v + 2) % kNodes));
    FGNN_ASSERT_OK(builder->Add((v + 2) % kNodes, v));
    FGNN_ASSERT_OK(builder->Add(v, (v + 3) % kNodes));
    FGNN_ASSERT_OK(builder->Add(v, (v + 3) % kNodes));
    FGNN_ASSERT_OK(builder->Add((v + 3) % kNodes, v));
    FGNN_ASSERT_OK(builder->Add(v, v));
  }
  FGNN_ASSERT_OK_AND_ASSIGN(const CscTotals totals,
                            builder->Finish(kNodes, nullptr));
  DatasetMetadata metadata;
  metadata.num_nodes = kNodes;
  metadata.num_edges = totals.num_edges;
  metadata.symmetric = false;
  FGNN_ASSERT_OK(writer.Commit(metadata));

  FGNN_ASSERT_OK_AND_ASSIGN(const SplitEdgesSummary summary,
                            SplitEdges(Options("out")));

  EXPECT_EQ(summary.num_train + summary.num_valid + summary.num_test,
            totals.num_edges);
  EXPECT_GT(summary.num_valid, 0U);
  const Dataset split = Open(folder_ / "out");
  const EdgeSet graph = SetOf(EdgeView(&split.graph()));
  const EdgeSet valid = SetOf(split.valid_edges());
  const EdgeSet test = SetOf(split.test_edges());
  for (const EdgeSet* held_out : {&valid, &test}) {
    for (const auto& [source, destination] : *held_out) {
      EXPECT_EQ(graph.count({source, destination}), 0U);
      EXPECT_EQ(graph.count({destination, source}), 0U);
    }
  }
  for (const auto& [source, destination] : valid) {
    EXPECT_EQ(test.count({source, destination}), 0U);
    EXPECT_EQ(test.count({destination, source}), 0U);
  }
}

TEST_F(SplitEdgesTest, FollowsFromItsSeedAlone) {
  MakeGraph(/*directed=*/false);
  SplitEdgesOptions options = Options("a");
  FGNN_ASSERT_OK(SplitEdges(options).status());
  options.out = folder_ / "b";
  FGNN_ASSERT_OK(SplitEdges(options).status());
  options.out = folder_ / "c";
  options.seed = 5;
  FGNN_ASSERT_OK(SplitEdges(options).status());
  const Dataset a = Open(folder_ / "a");
  EXPECT_EQ(SetOf(Open(folder_ / "b").test_edges()), SetOf(a.test_edges()));
  EXPECT_NE(SetOf(Open(folder_ / "c").test_edges()), SetOf(a.test_edges()));
}

TEST_F(SplitEdgesTest, RefusesSharesThatLeaveNothingAndASecondSplit) {
  MakeGraph(/*directed=*/false);
  const auto refuses = [](const SplitEdgesOptions& options,
                          const std::string& reason) {
    EXPECT_THAT(
        SplitEdges(options),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(reason)));
    EXPECT_FALSE(fs::exists(options.out));
  };
  SplitEdgesOptions options = Options("out");
  options.valid = 1;
  refuses(options, "--valid is 1");
  options.valid = std::nan("");
  refuses(options, "--valid is nan");
  options.valid = 0.5;
  options.test = 0.5;
  refuses(options, "leave no edge");
  FGNN_ASSERT_OK(SplitEdges(Options("once")).status());
  options = Options("twice");
  options.dataset = folder_ / "once";
  refuses(options, "the edges are split already");
}

}  // namespace
}  // namespace fgnn
