#include "tools/dataset/building/csc_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "shared/base/philox.h"
#include "shared/base/status.h"
#include "shared/graph/npy.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tools/dataset/building/edge_spill.h"

namespace fgnn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Le;

namespace fs = std::filesystem;

struct TestEdge {
  GlobalId source;
  GlobalId destination;
  float weight;
};

struct Graph {
  std::vector<int64_t> indptr;
  std::vector<uint32_t> indices;
  std::vector<float> weights;
  friend bool operator==(const Graph&, const Graph&) = default;
};

using Neighbor = std::pair<GlobalId, float>;
using Lists = std::vector<std::vector<Neighbor>>;

void SortBySource(std::vector<Neighbor>& list) {
  std::stable_sort(list.begin(), list.end(), [](const auto& x, const auto& y) {
    return x.first < y.first;
  });
}

// Makes one of equal edges, and counts the others.
void Merge(std::vector<Neighbor>& list, const CscBuilderOptions& options,
           uint64_t* num_merged, uint64_t* num_unequal) {
  SortBySource(list);
  if (!options.deduplicate) return;
  std::vector<Neighbor> kept;
  for (size_t i = 0; i < list.size();) {
    double sum = 0;
    float largest = 0;
    bool unequal = false;
    const size_t begin = i;
    for (; i < list.size() && list[i].first == list[begin].first; ++i) {
      sum += double{list[i].second};
      largest = std::max(largest, list[i].second);
      unequal = unequal || list[i].second != list[begin].second;
    }
    kept.push_back(list[begin]);
    if (options.equal_edges == EqualEdges::kSum) {
      kept.back().second = static_cast<float>(sum);
    } else if (options.equal_edges == EqualEdges::kLargest) {
      kept.back().second = largest;
    }
    *num_merged += i - begin - 1;
    *num_unequal += static_cast<uint64_t>(unequal && options.with_weights);
  }
  list = kept;
}

// What the builder promises, the plain way.
Graph Reference(const std::vector<TestEdge>& edges, uint64_t num_nodes,
                const CscBuilderOptions& options, CscTotals* totals) {
  Lists given(num_nodes);
  Lists reverses(num_nodes);
  *totals = {};
  for (const TestEdge& e : edges) {
    if (e.source == e.destination && options.drop_self_loops) {
      ++totals->num_self_loops;
      continue;
    }
    given[e.destination].emplace_back(e.source, e.weight);
    if (e.source == e.destination) continue;
    if (options.reverses == Reverses::kAll) {
      given[e.source].emplace_back(e.destination, e.weight);
    } else if (options.reverses == Reverses::kMissing) {
      reverses[e.source].emplace_back(e.destination, e.weight);
    }
  }
  Graph graph;
  graph.indptr.push_back(0);
  for (size_t v = 0; v < num_nodes; ++v) {
    Merge(given[v], options, &totals->num_merged, &totals->num_unequal);
    uint64_t uncounted = 0;
    Merge(reverses[v], options, &uncounted, &uncounted);
    std::vector<Neighbor> list = given[v];
    for (const Neighbor& reverse : reverses[v]) {
      const bool is_given = std::any_of(
          given[v].begin(), given[v].end(),
          [&](const Neighbor& edge) { return edge.first == reverse.first; });
      if (is_given) continue;
      list.push_back(reverse);
      ++totals->num_reverses;
    }
    SortBySource(list);
    for (const auto& [source, weight] : list) {
      graph.indices.push_back(source);
      if (options.with_weights) graph.weights.push_back(weight);
    }
    graph.indptr.push_back(static_cast<int64_t>(graph.indices.size()));
  }
  totals->num_edges = graph.indices.size();
  return graph;
}

template <typename T>
std::vector<T> ReadArray(const fs::path& path) {
  const absl::StatusOr<NpyArray> array = NpyArray::Open(path);
  EXPECT_THAT(array, IsOk());
  if (!array.ok()) return {};
  const auto span = array->As<T>();
  return {span.begin(), span.end()};
}

Graph ReadGraph(const fs::path& folder, bool with_weights) {
  Graph graph;
  graph.indptr = ReadArray<int64_t>(folder / "csc_indptr.npy");
  graph.indices = ReadArray<uint32_t>(folder / "indices.npy");
  if (with_weights) {
    graph.weights = ReadArray<float>(folder / "edge_weights.npy");
  }
  return graph;
}

// Skewed, with repeats and self-loops.
std::vector<TestEdge> RandomEdges(size_t count, uint32_t num_nodes) {
  const PhiloxKey key = MakePhiloxKey(3, 0, 0, 0, Purpose::kGenerateDataset);
  std::vector<TestEdge> edges;
  for (uint32_t i = 0; i < count; ++i) {
    const PhiloxBlock draw = Philox4x32({i, 0, 0, 0}, key);
    const uint32_t range = (draw.words[2] & 3) == 0 ? num_nodes : 40;
    edges.push_back({draw.words[0] % num_nodes, draw.words[1] % range,
                     UniformFloat(draw.words[3])});
  }
  return edges;
}

absl::StatusOr<CscTotals> Build(const fs::path& folder,
                                const std::vector<TestEdge>& edges,
                                uint64_t num_nodes,
                                const CscBuilderOptions& options) {
  FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<CscBuilder> builder,
                        CscBuilder::Create(folder, options));
  for (const TestEdge& e : edges) {
    FGNN_RETURN_IF_ERROR(builder->Add(e.source, e.destination, e.weight));
  }
  return builder->Finish(num_nodes, nullptr);
}

void ExpectEqualsReference(const std::vector<TestEdge>& edges,
                           uint64_t num_nodes,
                           const CscBuilderOptions& options) {
  SCOPED_TRACE(testing::Message()
               << "reverses " << static_cast<int>(options.reverses)
               << " equal edges " << static_cast<int>(options.equal_edges)
               << " deduplicate " << options.deduplicate << " loops dropped "
               << options.drop_self_loops << " weights "
               << options.with_weights);
  const TempFolder folder;
  FGNN_ASSERT_OK_AND_ASSIGN(const CscTotals totals,
                            Build(folder.path(), edges, num_nodes, options));
  CscTotals expected;
  const Graph reference = Reference(edges, num_nodes, options, &expected);
  EXPECT_TRUE(ReadGraph(folder.path(), options.with_weights) == reference);
  EXPECT_EQ(totals.num_edges, expected.num_edges);
  EXPECT_EQ(totals.num_merged, expected.num_merged);
  EXPECT_EQ(totals.num_unequal, expected.num_unequal);
  EXPECT_EQ(totals.num_reverses, expected.num_reverses);
  EXPECT_EQ(totals.num_self_loops, expected.num_self_loops);
  EXPECT_FALSE(fs::exists(folder / ".building"));
  EXPECT_EQ(fs::exists(folder / "edge_weights.npy"), options.with_weights);
}

class CscBuilderTest : public testing::Test {
 protected:
  const TempFolder folder_;
};

TEST_F(CscBuilderTest, EqualsReferenceForEveryOption) {
  const std::vector<TestEdge> edges = RandomEdges(20'000, 3000);
  for (int choice = 0; choice < 72; ++choice) {
    CscBuilderOptions options;
    options.deduplicate = (choice & 1) != 0;
    options.drop_self_loops = (choice & 2) != 0;
    options.with_weights = (choice & 4) != 0;
    options.reverses = static_cast<Reverses>(choice / 8 % 3);
    options.equal_edges = static_cast<EqualEdges>(choice / 24);
    ExpectEqualsReference(edges, 3000, options);
  }
}

TEST_F(CscBuilderTest, AGivenEdgeKeepsItsWeight) {
  for (const std::vector<TestEdge>& edges :
       {std::vector<TestEdge>{{0, 1, 1}, {1, 0, 9}, {1, 2, 4}},
        {{1, 2, 4}, {1, 0, 9}, {0, 1, 1}}}) {
    const TempFolder folder;
    CscBuilderOptions options;
    options.reverses = Reverses::kMissing;
    options.with_weights = true;
    FGNN_ASSERT_OK_AND_ASSIGN(const CscTotals totals,
                              Build(folder.path(), edges, 3, options));
    const Graph graph = ReadGraph(folder.path(), true);
    EXPECT_THAT(graph.indices, ElementsAre(1, 0, 2, 1));
    EXPECT_THAT(graph.weights, ElementsAre(9, 1, 4, 4));
    EXPECT_EQ(totals.num_merged, 0U);
    EXPECT_EQ(totals.num_reverses, 1U);
  }
}

TEST_F(CscBuilderTest, ASumBeyondFloatIsNamed) {
  CscBuilderOptions options;
  options.with_weights = true;
  options.equal_edges = EqualEdges::kSum;
  EXPECT_THAT(
      Build(folder_.path(), {{0, 1, 3e38F}, {0, 1, 3e38F}}, 2, options),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 -> 1")));
}

TEST_F(CscBuilderTest, MissingWeightsAreFilled) {
  CscBuilderOptions options;
  options.with_weights = true;
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<CscBuilder> builder,
                            CscBuilder::Create(folder_.path(), options));
  FGNN_ASSERT_OK(builder->Add(0, 1, NAN));
  FGNN_ASSERT_OK(builder->Add(1, 0, 2));
  builder->SetMissingWeight(5);
  FGNN_ASSERT_OK(builder->Finish(2, nullptr).status());
  EXPECT_THAT(ReadGraph(folder_.path(), true).weights, ElementsAre(2, 5));
}

// Little memory, so that the log spills and there are many buckets; ids beyond
// the histogram's first bins, and vertices without edges at the end.
TEST_F(CscBuilderTest, EqualsReferenceWhenItSpills) {
  std::vector<TestEdge> edges = RandomEdges(600'000, 500'000);
  edges.push_back({7, 1'499'999, 1});
  for (const bool with_weights : {false, true}) {
    CscBuilderOptions options;
    options.reverses = Reverses::kMissing;
    options.with_weights = with_weights;
    options.memory_bytes = 1;  // Raised to the least that works.
    ExpectEqualsReference(edges, 2'000'000, options);
  }
}

TEST_F(CscBuilderTest, BuildsAGraphWithoutEdges) {
  ExpectEqualsReference({}, 5, {});
}

TEST_F(CscBuilderTest, ReachesTheLastId) {
  // The arrays would be large, so only that the edge is accepted or refused.
  EXPECT_THAT(
      Build(folder_.path(), {{4294967295, 0, 1}}, 4, {}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4294967295")));
}

TEST_F(CscBuilderTest, NamesTheEdgeThatIsOutOfRange) {
  std::vector<TestEdge> edges(300'000, {1, 2, 1});
  edges[250'000] = {9, 2, 1};
  CscBuilderOptions options;
  options.memory_bytes = 1;
  EXPECT_THAT(Build(folder_.path(), edges, 9, options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("edge 250000 (9 -> 2)"),
                             HasSubstr("has 9 vertices"))));
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(CscBuilderTest, LeavesNothingWhenItIsNotFinished) {
  {
    FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<CscBuilder> builder,
                              CscBuilder::Create(folder_.path(), {}));
    FGNN_ASSERT_OK(builder->Add(0, 1));
    EXPECT_TRUE(fs::exists(folder_ / ".building"));
  }
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(CscBuilderTest, RefusesToGoOnAfterItsEnd) {
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<CscBuilder> builder,
                            CscBuilder::Create(folder_.path(), {}));
  FGNN_ASSERT_OK(builder->Finish(1, nullptr).status());
  EXPECT_THAT(builder->Add(0, 0),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(builder->Finish(1, nullptr),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(CscBuilderTest, RefusesAFolderThatIsNotThereAndNoVertices) {
  EXPECT_THAT(CscBuilder::Create(folder_ / "none", {}).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
  for (const uint64_t num_nodes : {uint64_t{0}, uint64_t{1} << 32}) {
    EXPECT_THAT(Build(folder_.path(), {}, num_nodes, {}),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

TEST_F(CscBuilderTest, ReportsProgressThatRisesToTheEnd) {
  CscBuilderOptions options;
  options.memory_bytes = 1;
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<CscBuilder> builder,
                            CscBuilder::Create(folder_.path(), options));
  for (const TestEdge& e : RandomEdges(600'000, 100'000)) {
    FGNN_ASSERT_OK(builder->Add(e.source, e.destination));
  }
  std::vector<uint64_t> seen;
  FGNN_ASSERT_OK(builder
                     ->Finish(100'000,
                              [&seen](uint64_t done, uint64_t in_all) {
                                EXPECT_EQ(in_all, 600'000U);
                                seen.push_back(done);
                              })
                     .status());
  EXPECT_GT(seen.size(), 1U);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), 600'000U);
}

TEST(MakeBucketsTest, CoversAllVerticesWithinTheBound) {
  EndHistograms histograms;
  DestinationHistogram& histogram = histograms.given;
  for (uint32_t v = 0; v < 1'000'000; ++v) histogram.Add(v * v % 300'000);
  const uint64_t num_nodes = 400'000;
  histogram.Cover(num_nodes);
  histograms.reverses.Match(histogram);
  const std::vector<Bucket> buckets =
      MakeBuckets(histograms, num_nodes, /*edge_bytes=*/12,
                  /*bucket_bytes=*/1 << 20);
  uint64_t vertex = 0;
  uint64_t edge = 0;
  for (const Bucket& bucket : buckets) {
    EXPECT_EQ(bucket.begin, vertex);
    EXPECT_EQ(bucket.first_edge, edge);
    const uint64_t bins = (bucket.end - bucket.begin) / histogram.bin_width();
    if (bins > 1) {
      EXPECT_THAT(bucket.num_edges * 12, Le(uint64_t{1} << 20));
    }
    vertex = bucket.end;
    edge += bucket.num_edges;
  }
  EXPECT_EQ(vertex, num_nodes);
  EXPECT_EQ(edge, 1'000'000U);
  EXPECT_GT(buckets.size(), 10U);
}

}  // namespace
}  // namespace fgnn
