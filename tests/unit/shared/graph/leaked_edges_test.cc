#include "shared/graph/leaked_edges.h"

#include <set>

#include "tests/reference/random_graph.h"
#include "tests/unit/shared/graph/dataset_folder.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Pairs = std::vector<uint32_t>;

// The edges are 1 -> 0, 2 -> 0, 3 -> 2, 0 -> 3, 1 -> 3, 2 -> 3.
class LeakedEdgesTest : public DatasetTest {
 protected:
  Dataset Open() const {
    absl::StatusOr<Dataset> dataset =
        Dataset::Open(folder(), Validation::kEverything);
    EXPECT_THAT(dataset, IsOk());
    return *std::move(dataset);
  }
  void WritePairs(const char* file, const Pairs& pairs) const {
    WriteArray(folder() / file, NpyType::kU32, pairs, {2});
  }
  // Returns the counts as text.
  std::string Count() const {
    const absl::StatusOr<LeakedEdges> leaked = CountLeakedEdges(Open());
    EXPECT_THAT(leaked, IsOk());
    return std::to_string(leaked->num_valid) + " valid, " +
           std::to_string(leaked->num_test) + " test";
  }
};

TEST_F(LeakedEdgesTest, NoneWithoutEdgesThatAreHeldOut) {
  Write();
  EXPECT_EQ(Count(), "0 valid, 0 test");
  WritePairs("valid_edges.npy", {0, 1, 0, 2, 1, 0});
  WritePairs("test_edges.npy", {1, 2, 2, 1, 3, 3});
  content_.indptr = {0, 0, 0, 0, 6};
  content_.indices = {0, 1, 2, 0, 1, 2};
  Write();
  EXPECT_EQ(Count(), "0 valid, 0 test");
  EXPECT_EQ(LeakedEdgesWarning(Open()).value(), std::nullopt);
}

TEST_F(LeakedEdgesTest, EdgesOfTheGraphAndTheirReversesCount) {
  Write();
  WritePairs("valid_edges.npy", {1, 0, 1, 2});
  WritePairs("test_edges.npy", {0, 1, 2, 3, 3, 2, 2, 1, 1, 1});
  EXPECT_EQ(Count(), "1 valid, 3 test");
  EXPECT_THAT(
      LeakedEdgesWarning(Open()).value().value_or(""),
      AllOf(HasSubstr(folder().string() + ": 1 of 2 edges of valid_edges.npy "
                                          "and 3 of 5 edges of test_edges.npy "
                                          "are trained on: the graph has them"),
            HasSubstr("'fgnn dataset split-edges'"), Not(HasSubstr("\n"))));
}

TEST_F(LeakedEdgesTest, EdgesOfTheTrainingFileCount) {
  Write();
  WritePairs("train_edges.npy", {1, 0, 1, 2, 0, 0, 1, 2});
  WritePairs("valid_edges.npy", {0, 0});
  WritePairs("test_edges.npy", {1, 1, 2, 1});
  EXPECT_EQ(Count(), "1 valid, 1 test");
  EXPECT_THAT(LeakedEdgesWarning(Open()).value().value_or(""),
              HasSubstr("the graph or train_edges.npy has them"));
}

// Lists of the graph ascend or not, and edges are there more than once.
TEST_F(LeakedEdgesTest, RandomGraphsHaveTheCountOfASet) {
  for (uint64_t round = 0; round < 20; ++round) {
    const auto num_nodes = static_cast<uint32_t>(5 + 5 * round);
    const reference::CscGraph graph = reference::RandomGraph(num_nodes, round);
    reference::TestDraws draws(round);
    std::set<std::pair<uint32_t, uint32_t>> either_way;
    content_ = Content();
    content_.indices.clear();
    content_.indptr = {0};
    for (uint32_t v = 0; v < num_nodes; ++v) {
      for (const uint32_t u : graph.lists()[v]) {
        either_way.insert({std::min(u, v), std::max(u, v)});
        content_.indices.push_back(u);
      }
      content_.indptr.push_back(static_cast<int64_t>(content_.indices.size()));
    }
    content_.metadata.num_nodes = num_nodes;
    content_.metadata.num_edges = content_.indices.size();
    std::ofstream(folder() / "metadata.yaml")
        << FormatMetadata(content_.metadata);
    WriteArray(folder() / "csc_indptr.npy", NpyType::kI64, content_.indptr);
    WriteArray(folder() / "indices.npy", NpyType::kU32, content_.indices);
    Pairs test;
    uint64_t expected = 0;
    for (uint32_t i = 0; i < num_nodes; ++i) {
      const auto u = static_cast<uint32_t>(draws.Below(num_nodes));
      const auto v = static_cast<uint32_t>(draws.Below(num_nodes));
      test.insert(test.end(), {u, v});
      expected += either_way.count({std::min(u, v), std::max(u, v)});
    }
    WritePairs("test_edges.npy", test);
    EXPECT_EQ(Count(), "0 valid, " + std::to_string(expected) + " test")
        << round;
  }
}

TEST_F(LeakedEdgesTest, ACallerCanStopIt) {
  Write();
  WritePairs("test_edges.npy", {0, 1});
  EXPECT_THAT(
      CountLeakedEdges(Open(), [] { return absl::CancelledError("enough"); }),
      Cancelled("enough"));
}

}  // namespace
}  // namespace fgnn
