// Sizes and paths that a source's small files only claim.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/tools/dataset/import_fixture.h"
#include "tools/dataset/importing/import.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

using Arrays = std::map<std::string, std::string>;

class ImportSizesTest : public ImportTest {
 protected:
  void ExpectRefused(const absl::StatusOr<ImportSummary>& summary,
                     const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      EXPECT_THAT(summary, StatusIs(absl::StatusCode::kInvalidArgument,
                                    HasSubstr(word)));
    }
    EXPECT_TRUE(NothingLeft());
  }
  absl::StatusOr<ImportSummary> Npz(const Arrays& arrays) {
    return From(ImportNpz, {WriteNpz("in.npz", arrays)});
  }
  // A matrix of three vertices with features of `columns` columns.
  static Arrays SparseFeatures(int64_t columns) {
    return {{"adj_indptr", Npy<int32_t>({0, 2, 3, 3})},
            {"adj_indices", Npy<int32_t>({1, 2, 2})},
            {"attr_indptr", fgnn::Npy<int32_t>({0, 1, 1, 2})},
            {"attr_indices", fgnn::Npy<int32_t>({1, 0})},
            {"attr_data", fgnn::Npy<float>({5, 6})},
            {"attr_shape", fgnn::Npy<int64_t>({3, columns})}};
  }
  template <typename T>
  static std::string Npy(const std::vector<T>& values) {
    return fgnn::Npy<T>(values);
  }
};

TEST_F(ImportSizesTest, ColumnsOfSparseFeaturesAreVouchedForByEntries) {
  for (const int64_t columns :
       {int64_t{1} << 40, int64_t{1} << 30, int64_t{1} << 62,
        int64_t{0x7FFFFFFFFFFFFFFF}}) {
    SCOPED_TRACE(columns);
    ExpectRefused(Npz(SparseFeatures(columns)),
                  {"in.npz (attr_shape)", "2 entries"});
  }
  ExpectRefused(
      [this] {
        Arrays arrays = SparseFeatures(2);
        arrays["attr_shape"] = fgnn::Npy<int64_t>({4, 2});
        return Npz(arrays);
      }(),
      {"in.npz (attr_shape): says [4, 2]", "3 rows"});

  Write("in/indptr.npy", Npy<int64_t>({0, 2, 2, 3}));
  Write("in/indices.npy", Npy<int32_t>({1, 2, 0}));
  Write("in/features_indptr.npy", Npy<int64_t>({0, 1, 1, 1}));
  Write("in/features_indices.npy", Npy<int32_t>({3}));
  Write("in/features_values.npy", Npy<float>({3}));
  Write("in/features_shape.npy", Npy<int64_t>({3, int64_t{1} << 40}));
  ExpectRefused(From(ImportNumpy, {folder_ / "in", {}, {}, {}, {}}),
                {"features_shape.npy", "1 entries"});
}

TEST_F(ImportSizesTest, AnArrayWithoutRowsHasNoColumns) {
  Arrays arrays = {{"edge_index", fgnn::Npy<int64_t>({2, 1}, {0, 1})}};
  for (const std::vector<uint64_t>& shape :
       {std::vector<uint64_t>{0, uint64_t{1} << 59},
        std::vector<uint64_t>{uint64_t{1} << 59, 0}}) {
    arrays["x"] = fgnn::Npy<float>(shape, {});
    ExpectRefused(Npz(arrays), {"in.npz (x)", "empty"});
  }
}

TEST_F(ImportSizesTest, AMemberIsNoLargerThanItsBytesCanBe) {
  // 2^31 labels of a byte each, of which six are there.
  constexpr uint64_t kClaimed = uint64_t{1} << 31;
  const std::string labels =
      MakeNpyHeader(NpyType::kBool, {kClaimed}) + std::string(6, '\0');
  const std::filesystem::path path = WriteNpz(
      "in.npz",
      {{"edge_index", fgnn::Npy<int64_t>({2, 1}, {0, 1})}, {"labels", labels}});
  std::ifstream in(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  // The member's entry in the central directory: its uncompressed size.
  const size_t entry = bytes.find("PK\x01\x02", bytes.rfind("labels.npy") - 46);
  ASSERT_NE(entry, std::string::npos);
  const auto claimed = static_cast<uint32_t>(labels.size() - 6 + kClaimed);
  bytes.replace(entry + 24, sizeof(claimed),
                reinterpret_cast<const char*>(&claimed), sizeof(claimed));
  Write("in.npz", bytes);

  ExpectRefused(From(ImportNpz, {path}), {"in.npz (labels)", "claims"});
}

TEST_F(ImportSizesTest, VerticesAreVouchedForByEdgesOrRows) {
  WriteGz("ogb/raw/edge.csv.gz", "0,1\n2,1\n");
  WriteGz("ogb/raw/num-node-list.csv.gz", "4294967295\n");
  ExpectRefused(From(ImportOgb, {folder_ / "ogb", {}, -1}),
                {"4,294,967,295 vertices", "2 edges"});

  WriteNpz("binary/raw/data.npz",
           {{"edge_index", fgnn::Npy<int64_t>({2, 1}, {0, 1})},
            {"num_nodes_list", Npy<int64_t>({0xFFFFFFFF})}});
  ExpectRefused(From(ImportOgb, {folder_ / "binary", {}, -1}),
                {"4,294,967,295 vertices", "1 edges"});

  ExpectRefused(
      Npz({{"edge_index", fgnn::Npy<int64_t>({2, 1}, {0, 0xFFFFFFFE})}}),
      {"4,294,967,295 vertices", "1 edges"});
}

// A row of a file for each vertex is no mere number.
TEST_F(ImportSizesTest, IsolatedVerticesWithRowsOfTheirOwnAreTaken) {
  constexpr size_t kNodes = (size_t{1} << 20) + 40;
  const Arrays edge = {{"edge_index", fgnn::Npy<int64_t>({2, 1}, {0, 1})}};
  Arrays features = edge;
  features["x"] = Npy<uint8_t>(std::vector<uint8_t>(kNodes, 1));
  FGNN_ASSERT_OK(Npz(features));
  Arrays labels = edge;
  labels["labels"] = Npy<uint8_t>(std::vector<uint8_t>(kNodes, 1));
  FGNN_ASSERT_OK(Npz(labels));
  Write("in/indptr.npy", Npy<int32_t>(std::vector<int32_t>(kNodes + 1, 0)));
  Write("in/indices.npy", Npy<int32_t>({}));
  ExpectRefused(From(ImportNumpy, {folder_ / "in", {}, {}, {}, {}}),
                {"no edges"});
  std::vector<int32_t> indptr(kNodes + 1, 1);
  indptr[0] = 0;
  Write("in/indptr.npy", Npy<int32_t>(indptr));
  Write("in/indices.npy", Npy<int32_t>({1}));
  FGNN_ASSERT_OK(From(ImportNumpy, {folder_ / "in", {}, {}, {}, {}}));
}

TEST_F(ImportSizesTest, AnExceptionLeavesNothing) {
  options_.progress = [](std::string_view, uint64_t, uint64_t) {
    throw std::bad_alloc();
  };
  EdgeListSource source;
  source.path = Write("edges.txt", "0 1\n1 2\n");
  EXPECT_THROW(From(ImportEdgeList, source).IgnoreError(), std::bad_alloc);
  EXPECT_TRUE(NothingLeft());
}

class GraphBoltSizesTest : public ImportSizesTest {
 protected:
  GraphBoltSizesTest() {
    Write("in/edges.csv", "0,1\n2,1\n");
    Write("in/set/train.npy", Npy<int64_t>({2, 0}));
    Write("in/set/labels.npy", Npy<int64_t>({1, 0}));
  }
  absl::StatusOr<ImportSummary> Import(
      const std::string& num, const std::string& classes,
      const std::string& seeds = "set/train.npy",
      const std::string& edges = "edges.csv", const std::string& more = "") {
    Write("in/metadata.yaml",
          "graph:\n"
          "  nodes: [{num: " +
              num +
              "}]\n"
              "  edges: [{format: csv, path: '" +
              edges + "'}]\n" + more +
              "tasks:\n"
              "- num_classes: " +
              classes +
              "\n"
              "  train_set:\n"
              "  - data:\n"
              "    - {name: seeds, path: '" +
              seeds +
              "'}\n"
              "    - {name: labels, path: set/labels.npy}\n");
    return From(ImportGraphBolt, {folder_ / "in", {}, {}});
  }
};

TEST_F(GraphBoltSizesTest, NumIsVouchedForByEdgesOrRows) {
  ExpectRefused(Import("4294967295", "2"),
                {"4,294,967,295 vertices", "2 edges"});
}

TEST_F(GraphBoltSizesTest, ClassesHaveABound) {
  FGNN_ASSERT_OK(Import("3", "16777216"));
  for (const char* classes : {"16777217", "2147483648", "4294967295"}) {
    ExpectRefused(Import("3", classes), {classes, "classes", "16777216"});
  }
  options_.num_classes = 16777217;  // --classes.
  ExpectRefused(Import("3", "2"), {"16777217", "classes"});
}

TEST_F(GraphBoltSizesTest, PathsStayInTheFolder) {
  const std::string other = Write("other.npy", Npy<int64_t>({2, 0})).string();
  for (const std::string& path :
       {std::string("../other.npy"), std::string("set/../../other.npy"),
        std::string("set/../set/train.npy"), other}) {
    SCOPED_TRACE(path);
    ExpectRefused(Import("3", "2", path),
                  {"metadata.yaml", "'" + path + "'", "tasks.train_set",
                   "leaves the folder"});
    ExpectRefused(Import("3", "2", "set/train.npy", path),
                  {"metadata.yaml", "'" + path + "'", "graph.edges"});
    ExpectRefused(Import("3", "2", "set/train.npy", "edges.csv",
                         "feature_data:\n- {domain: node, name: feat, path: '" +
                             path + "'}\n"),
                  {"metadata.yaml", "'" + path + "'", "feature_data"});
  }
}

// Large arrays often lie on another disk.
TEST_F(GraphBoltSizesTest, LinksInTheFolderAreFollowed) {
  Write("other.npy", Npy<int64_t>({2, 0}));
  std::filesystem::create_symlink("../other.npy", folder_ / "in/link.npy");
  FGNN_ASSERT_OK(Import("3", "2", "link.npy"));
}

}  // namespace
}  // namespace fgnn
