// Splits of sources: lists and masks, what is refused, and what an import says
// of data that it leaves out or that looks wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/tools/dataset/import_fixture.h"
#include "tools/dataset/importing/import.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ImportSplitsTest : public ImportTest {
 protected:
  using Arrays = std::map<std::string, std::string>;

  // Returns the arrays of a labelled graph of 4 vertices, and `others`.
  static Arrays With(const Arrays& others) {
    Arrays arrays = {{"edge_index", Npy<int64_t>({2, 3}, {0, 1, 2, 1, 2, 3})},
                     {"x", Npy<float>({4, 1}, {1, 2, 3, 4})},
                     {"y", Npy<int64_t>({0, 1, 0, 1})}};
    arrays.insert(others.begin(), others.end());
    return arrays;
  }
  absl::StatusOr<ImportSummary> Import(const Arrays& others) {
    return From(ImportNpz, {WriteNpz("in.npz", With(others))});
  }
  void ExpectRefused(const Arrays& others,
                     const std::vector<std::string>& words) {
    const absl::Status status = Import(others).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    for (const std::string& word : words) {
      EXPECT_THAT(status.message(), HasSubstr(word));
    }
    EXPECT_TRUE(NothingLeft());
  }
  // Writes a folder of arrays for ImportNumpy().
  NumpySource NumpyFolder() {
    Write("in/indptr.npy", Npy<int64_t>({0, 1, 2, 3, 3}));
    Write("in/indices.npy", Npy<int32_t>({1, 2, 0}));
    Write("in/labels.npy", Npy<int64_t>({0, 1, 0, 1}));
    return NumpySource{folder_ / "in", {}, {}, {}, {}};
  }
};

TEST_F(ImportSplitsTest, AMaskHasAFlagForEachVertex) {
  const std::string expected = "where a mask of the 4 vertices is expected";
  // Positions in a mask, if it were one: vertices 0 and 1.
  ExpectRefused(
      {{"train_mask", Npy<int64_t>({3, 2})}},
      {"in.npz (train_mask): is [2] of int64", expected, "train_idx"});
  ExpectRefused({{"val_mask", Npy<int64_t>({0, 1, 2, 3})}},
                {"in.npz (val_mask): is [4] of int64 and its element 2 is 2",
                 expected, "valid_idx"});
  ExpectRefused(
      {{"test_mask", Npy<float>({0, 1, 0.5, 0})}},
      {"in.npz (test_mask): is [4] of float32 and its element 2 is 0.5",
       expected});
  ExpectRefused(
      {{"train_mask", Npy<uint8_t>({4, 2}, {0, 1, 0, 1, 0, 0, 0, 0})}},
      {"in.npz (train_mask): is [4, 2] of bool", expected});
  ExpectRefused({{"train_idx", Npy<uint8_t>({1, 0, 1})}},
                {"in.npz (train_idx): is [3] of bool", expected});
}

TEST_F(ImportSplitsTest, AListNamesEachVertexOnce) {
  ExpectRefused({{"train_idx", Npy<int64_t>({1, 0, 1, 0})}},
                {"in.npz (train_idx): is [4] of int64 and names vertex 1 again "
                 "at element 2",
                 "save a mask as bool"});
}

TEST_F(ImportSplitsTest, FoldersHaveMasksToo) {
  NumpySource source = NumpyFolder();
  Write("in/train_mask.npy", Npy<int64_t>({1, 0, 0, 1}));
  Write("in/val_mask.npy", Npy<int32_t>({0, 1, 0, 0}));
  FGNN_ASSERT_OK(From(ImportNumpy, source));
  EXPECT_THAT(ToVector(Out().train()), ElementsAre(0, 3));
  EXPECT_THAT(ToVector(Out().valid()), ElementsAre(1));

  Write("in/a_mask.npy", Npy<int64_t>({2, 3}));
  source.train_file = "a_mask.npy";
  source.valid_file = "val_mask.npy";
  source.test_file = "val_mask.npy";
  EXPECT_THAT(From(ImportNumpy, source),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("in/a_mask.npy: is [2] of int64"),
                             HasSubstr("a mask of the 4 vertices"))));
  EXPECT_TRUE(NothingLeft());
}

TEST_F(ImportSplitsTest, SplitsThatShareVerticesAreSaid) {
  const ImportSummary summary =
      Taken(Import({{"train_idx", Npy<int64_t>({2, 0, 1})},
                    {"val_idx", Npy<int64_t>({3})},
                    {"test_mask", Npy<uint8_t>({1, 0, 1, 1})}}));
  EXPECT_THAT(
      summary.notes,
      ElementsAre(HasSubstr("train.npy and test.npy share 2 vertices (0, 2)"),
                  HasSubstr("valid.npy and test.npy share 1 vertex (3)")));
}

TEST_F(ImportSplitsTest, ClassesWithoutAVertexAreSaid) {
  Arrays arrays = With({{"train_idx", Npy<int64_t>({0})}});
  arrays["y"] = Npy<int64_t>({0, 4, -1, 2});
  const ImportSummary gaps =
      Taken(From(ImportNpz, {WriteNpz("in.npz", arrays)}));
  EXPECT_THAT(gaps.notes,
              ElementsAre(HasSubstr(
                  "labels.npy has no vertex of 2 of 5 classes (1, 3)")));
}

TEST_F(ImportSplitsTest, ArraysThatNothingReadsAreSaid) {
  const ImportSummary npz =
      Taken(Import({{"edge_attr", Npy<float>({3, 2}, {1, 2, 3, 4, 5, 6})},
                    {"edge_weight", Npy<float>({1, 2, 3})},
                    {"train_idx", Npy<int64_t>({0})}}));
  EXPECT_THAT(npz.notes,
              ElementsAre(AllOf(HasSubstr("in.npz"), HasSubstr("left out"),
                                HasSubstr("edge_attr, edge_weight"))));
  EXPECT_THAT(ReadOut("metadata.yaml"),
              HasSubstr("left_out:\n  - edge_attr\n  - edge_weight\n"));

  const NumpySource source = NumpyFolder();
  Write("in/train_idx.npy", Npy<int64_t>({0}));
  Write("in/edge_attr.npy", Npy<float>({1, 2, 3}));
  const ImportSummary numpy = Taken(From(ImportNumpy, source));
  EXPECT_THAT(numpy.notes, ElementsAre(AllOf(HasSubstr("left out"),
                                             HasSubstr("edge_attr.npy"))));
}

TEST_F(ImportSplitsTest, ColumnsAndFilesThatNothingReadsAreSaid) {
  CsvSource csv;
  csv.edges = Write("edges.csv", "source,destination,kind,since\n0,1,2,3\n");
  const ImportSummary columns = Taken(From(ImportCsv, csv));
  EXPECT_THAT(columns.notes,
              ElementsAre(AllOf(HasSubstr("edges.csv"), HasSubstr("left out"),
                                HasSubstr("kind, since"))));

  WriteGz("ogb/raw/edge.csv.gz", "0,1\n2,1\n");
  WriteGz("ogb/raw/num-node-list.csv.gz", "3\n");
  WriteGz("ogb/raw/num-edge-list.csv.gz", "2\n");
  WriteGz("ogb/raw/edge-feat.csv.gz", "1\n2\n");
  const ImportSummary ogb = Taken(From(ImportOgb, {folder_ / "ogb", {}, -1}));
  EXPECT_THAT(ogb.notes, Contains(AllOf(HasSubstr("left out"),
                                        HasSubstr("edge-feat.csv.gz"))));
  EXPECT_THAT(ogb.notes, Not(Contains(HasSubstr("num-edge-list"))));
}

// metadata.yaml has a limit, and a source may have any number of names.
TEST_F(ImportSplitsTest, ManyLongNamesAreCutShort) {
  std::string header = "source,destination";
  std::string record = "0,1";
  for (int i = 0; i < 1000; ++i) {
    header += "," + std::string(5000, 'x');
    record += ",1";
  }
  CsvSource csv;
  csv.edges = Write("edges.csv", header + "\n" + record + "\n");
  const ImportSummary summary = Taken(From(ImportCsv, csv));
  EXPECT_THAT(summary.notes, ElementsAre(HasSubstr(", 980 more")));
  EXPECT_EQ(Out().num_edges(), 1U);
}

TEST_F(ImportSplitsTest, GraphBoltSeedsMayBeAMask) {
  const std::string head =
      "graph:\n"
      "  nodes: [{num: 3}]\n"
      "  edges: [{format: csv, path: edges.csv}]\n"
      "feature_data:\n"
      "- {domain: edge, name: weight, format: numpy, path: w.npy}\n"
      "tasks:\n"
      "- name: node_classification\n"
      "  num_classes: 2\n"
      "  train_set:\n"
      "  - data:\n"
      "    - {name: seeds, format: numpy, path: seeds.npy}\n"
      "    - {name: labels, format: numpy, path: labels.npy}\n";
  Write("in/metadata.yaml", head);
  Write("in/edges.csv", "0,1\n2,1\n");
  Write("in/labels.npy", Npy<int64_t>({1, 0}));
  Write("in/seeds.npy", Npy<uint8_t>({1, 1}));
  EXPECT_THAT(From(ImportGraphBolt, {folder_ / "in", {}, {}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("in/seeds.npy: is [2] of bool, where a mask "
                                 "of the 3 vertices")));
  EXPECT_TRUE(NothingLeft());
  Write("in/seeds.npy", Npy<uint8_t>({1, 0, 1}));
  const ImportSummary summary =
      Taken(From(ImportGraphBolt, {folder_ / "in", {}, {}}));
  EXPECT_THAT(ToVector(Out().train()), ElementsAre(0, 2));
  EXPECT_THAT(summary.notes,
              ElementsAre(AllOf(HasSubstr("left out"), HasSubstr("weight"))));
}

}  // namespace
}  // namespace fgnn
