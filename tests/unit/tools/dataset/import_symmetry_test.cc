// What importers say of the directions of edges, for every kind of source.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "shared/graph/metadata.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/tools/dataset/generated_source.h"
#include "tests/unit/tools/dataset/import_fixture.h"
#include "tools/dataset/importing/import.h"
#include "tools/dataset/importing/import_report.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr int64_t kNodes = 4;
const Edges kSymmetric = {{3, 0}, {0, 1}, {2, 2}, {1, 0}, {1, 3},
                          {0, 1}, {0, 3}, {3, 1}, {0, 1}};
// Without 3 -> 1.
const Edges kDirected = {{3, 0}, {0, 1}, {2, 2}, {1, 0},
                         {1, 3}, {0, 1}, {0, 3}, {0, 1}};

class ImportSymmetryTest : public ImportTest {
 protected:
  using Result = absl::StatusOr<ImportSummary>;

  std::string Lines(const Edges& edges, const std::string& separator,
                    bool with_weights = false) {
    std::string text;
    for (const auto& [source, destination] : edges) {
      text += std::to_string(source) + separator + std::to_string(destination);
      if (with_weights) text += separator + std::to_string(1 + source);
      text += "\n";
    }
    return text;
  }

  Result EdgeList(const Edges& edges, bool with_weights) {
    EdgeListSource source;
    source.path = Write("edges.txt", Lines(edges, " ", with_weights));
    return From(ImportEdgeList, source);
  }
  Result Csv(const Edges& edges) {
    CsvSource source;
    source.edges =
        Write("edges.csv", "source,destination\n" + Lines(edges, ","));
    return From(ImportCsv, source);
  }
  Result Numpy(const Edges& edges) {
    for (const auto& [name, array] :
         CompressedLists(edges, kNodes, /*by_source=*/false)) {
      Write("numpy/" + name + ".npy", array);
    }
    return From(ImportNumpy, {folder_ / "numpy", {}, {}, {}, {}});
  }
  Result Matrix(const Edges& edges) {
    std::map<std::string, std::string> arrays;
    for (const auto& [name, array] :
         CompressedLists(edges, kNodes, /*by_source=*/true)) {
      arrays["adj_" + name] = array;
    }
    return From(ImportNpz, {WriteNpz("matrix.npz", arrays)});
  }
  Result Index(const Edges& edges) {
    return From(ImportNpz,
                {WriteNpz("index.npz", {{"edge_index", EdgeIndex(edges)}})});
  }
  Result Ogb(const Edges& edges) {
    WriteGz("ogb/raw/edge.csv.gz", Lines(edges, ","));
    WriteGz("ogb/raw/num-node-list.csv.gz", std::to_string(kNodes) + "\n");
    return From(ImportOgb, {folder_ / "ogb", {}, -1});
  }
  Result GraphBolt(const Edges& edges) {
    Write("bolt/edges.npy", EdgeIndex(edges));
    Write("bolt/metadata.yaml",
          "graph:\n  nodes: [{num: 4}]\n"
          "  edges: [{format: numpy, path: edges.npy}]\n");
    return From(ImportGraphBolt, {folder_ / "bolt", {}, {}});
  }

  // Calls `check` with what each kind of importer says of the edges.
  void ForEachKind(const Edges& edges,
                   const std::function<void(const ImportSummary&)>& check) {
    const std::map<std::string, std::function<Result()>> kinds = {
        {"edgelist", [&] { return EdgeList(edges, false); }},
        {"weighted edgelist", [&] { return EdgeList(edges, true); }},
        {"csv", [&] { return Csv(edges); }},
        {"numpy", [&] { return Numpy(edges); }},
        {"npz, a matrix", [&] { return Matrix(edges); }},
        {"npz, edge_index", [&] { return Index(edges); }},
        {"ogb", [&] { return Ogb(edges); }},
        {"graphbolt", [&] { return GraphBolt(edges); }}};
    for (const auto& [kind, import] : kinds) {
      SCOPED_TRACE(kind);
      const ImportSummary summary = Taken(import());
      EXPECT_EQ(ReadMetadata(options_.out).value().symmetric,
                summary.symmetric);
      check(summary);
    }
  }

  std::string Report(const ImportSummary& summary) {
    return ImportReport(summary, options_, 1);
  }
};

TEST_F(ImportSymmetryTest, AGraphWithEveryReverseIsSymmetric) {
  for (const bool keep_duplicates : {false, true}) {
    options_.keep_duplicates = keep_duplicates;
    ForEachKind(kSymmetric, [&](const ImportSummary& summary) {
      EXPECT_TRUE(summary.symmetric);
      EXPECT_EQ(summary.num_edges, keep_duplicates ? 9U : 7U);
      EXPECT_THAT(Report(summary), HasSubstr("edges     symmetric"));
    });
  }
}

TEST_F(ImportSymmetryTest, OneEdgeWithoutAReverseMakesItDirected) {
  ForEachKind(kDirected, [&](const ImportSummary& summary) {
    EXPECT_FALSE(summary.symmetric);
    EXPECT_THAT(Report(summary),
                AllOf(HasSubstr("edges     directed"),
                      HasSubstr("--symmetric adds the missing ones")));
  });
}

TEST_F(ImportSymmetryTest, ReversesThatAreAddedCount) {
  options_.symmetric = true;
  ForEachKind(kDirected, [&](const ImportSummary& summary) {
    EXPECT_TRUE(summary.symmetric);
    EXPECT_EQ(summary.num_edges, 7U);
  });
}

TEST_F(ImportSymmetryTest, AWrongClaimOfDirectionsIsSaid) {
  options_.directed = true;
  ForEachKind(kSymmetric, [&](const ImportSummary& summary) {
    EXPECT_TRUE(summary.symmetric);
    EXPECT_THAT(summary.notes, Contains(HasSubstr("--directed does not hold")));
  });
  ForEachKind(kDirected, [&](const ImportSummary& summary) {
    EXPECT_FALSE(summary.symmetric);
    EXPECT_THAT(summary.notes, Not(Contains(HasSubstr("--directed"))));
    EXPECT_THAT(Report(summary), Not(HasSubstr("--symmetric")));
  });
}

TEST_F(ImportSymmetryTest, TheReportForProgramsHasIt) {
  for (const bool symmetric : {false, true}) {
    const ImportSummary summary =
        Taken(Csv(symmetric ? kSymmetric : kDirected));
    EXPECT_EQ(nlohmann::json::parse(
                  ImportReportJson(summary, options_, 1))["symmetric"],
              symmetric);
  }
}

}  // namespace
}  // namespace fgnn
