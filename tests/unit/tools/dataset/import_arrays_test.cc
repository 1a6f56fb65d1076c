// Folders of NumPy arrays and .npz archives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/tools/dataset/import_fixture.h"
#include "tools/dataset/importing/import.h"
#include "tools/dataset/reading/array_stream.h"
#include "tools/dataset/reading/float_bits.h"

namespace fgnn {
namespace {

using testing::AllOf;

using testing::ElementsAre;

using testing::HasSubstr;
using testing::IsEmpty;

// Returns the bytes of an .npy file with this header and these elements.
std::string RawNpy(std::string header, std::string_view elements) {
  header.resize(117, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\0\x76\0", 10) + header +
         std::string(elements);
}

// Returns an .npy file of a list of texts of at most `length` characters, all
// ASCII, as code points of 32 bits.
std::string TextNpy(size_t length, const std::vector<std::string>& texts) {
  std::string elements;
  for (const std::string& text : texts) {
    for (size_t i = 0; i < length; ++i) {
      elements += i < text.size() ? text[i] : '\0';
      elements.append(3, '\0');
    }
  }
  return RawNpy("{'descr': '<U" + std::to_string(length) +
                    "', 'fortran_order': False, 'shape': (" +
                    std::to_string(texts.size()) + ",), }",
                elements);
}

class ImportNumpyTest : public ImportTest {
 protected:
  ImportNumpyTest() {
    source_.folder = folder_ / "in";
    // 1 -> 0, 2 -> 0, 0 -> 2.
    Write("in/indptr.npy", Npy<int64_t>({0, 2, 2, 3}));
    Write("in/indices.npy", Npy<int32_t>({1, 2, 0}));
  }
  absl::StatusOr<ImportSummary> Import() { return From(ImportNumpy, source_); }
  void ExpectError(const std::string& message) {
    EXPECT_THAT(Import().status().message(), HasSubstr(message));
    EXPECT_TRUE(NothingLeft());
  }
  NumpySource source_;
};

TEST_F(ImportNumpyTest, TopologyAloneIsADataset) {
  const ImportSummary summary = Taken(Import());

  EXPECT_EQ(summary.num_nodes, 3U);
  EXPECT_THAT(InNeighbors(0), ElementsAre(1, 2));
  EXPECT_THAT(InNeighbors(1), IsEmpty());
  EXPECT_THAT(InNeighbors(2), ElementsAre(0));
  EXPECT_EQ(summary.feature_columns, 0U);
  EXPECT_EQ(summary.num_classes, 0U);
  EXPECT_THAT(summary.notes, IsEmpty());
}

TEST_F(ImportNumpyTest, SparseFeaturesBecomeDenseRowsThatMayBeNormalised) {
  Write("in/features_indptr.npy", Npy<int64_t>({0, 2, 2, 4}));
  Write("in/features_indices.npy", Npy<int32_t>({3, 0, 1, 1}));
  Write("in/features_values.npy", Npy<float>({3, -1, 2, 4}));
  Write("in/features_shape.npy", Npy<int64_t>({3, 4}));
  FGNN_ASSERT_OK(Import());
  EXPECT_THAT(Features(0), ElementsAre(-1, 0, 0, 3));
  EXPECT_THAT(Features(1), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(Features(2), ElementsAre(0, 6, 0, 0));

  options_.feature_norm = RowNorm::kL1;
  options_.feature_type = FeatureType::kFloat16;
  FGNN_ASSERT_OK(Import());
  const auto* row = reinterpret_cast<const uint16_t*>(Out().features().row(0));
  EXPECT_EQ(HalfToFloat(row[0]), -0.25F);
  EXPECT_EQ(HalfToFloat(row[3]), 0.75F);

  options_.feature_norm = RowNorm::kL2;
  options_.feature_type = FeatureType::kFloat32;
  FGNN_ASSERT_OK(Import());
  EXPECT_FLOAT_EQ(Features(0)[0], -0.3162278F);
  EXPECT_FLOAT_EQ(Features(0)[3], 0.9486833F);
  EXPECT_EQ(Features(0)[1], 0.0F);
}

TEST_F(ImportNumpyTest, DenseFeaturesLabelsWeightsAndSplitsAreTaken) {
  Write("in/features.npy", Npy<double>({3, 1}, {1, 2, 3}));
  Write("in/edge_weights.npy", Npy<float>({0.5, 1, 0}));
  Write("in/labels.npy", Npy<float>({1, NAN, 0}));
  Write("in/train_idx.npy", Npy<int64_t>({2}));
  Write("in/valid_idx.npy", Npy<int32_t>({0}));
  Write("in/test.npy", Npy<uint8_t>({1, 0, 1}));  // A mask.

  const ImportSummary summary = Taken(Import());

  EXPECT_EQ(summary.num_labelled, 2U);
  EXPECT_THAT(ToVector(Out().labels()), ElementsAre(1, -1, 0));
  EXPECT_THAT(ToVector(Out().train()), ElementsAre(2));
  EXPECT_THAT(ToVector(Out().valid()), ElementsAre(0));
  EXPECT_THAT(ToVector(Out().test()), ElementsAre(0, 2));
  EXPECT_THAT(Out().edge_weights(), ElementsAre(0.5F, 1, 0));
  EXPECT_THAT(Features(2), ElementsAre(3));
}

TEST_F(ImportNumpyTest, FeaturesMayBeInFortranOrder) {
  const std::vector<float> columns = {1, 2, 3, 10, 20, 30};
  Write("in/features.npy",
        RawNpy("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }",
               {reinterpret_cast<const char*>(columns.data()),
                columns.size() * sizeof(float)}));
  FGNN_ASSERT_OK(Import());
  EXPECT_THAT(Features(0), ElementsAre(1, 10));
  EXPECT_THAT(Features(2), ElementsAre(3, 30));
}

TEST_F(ImportNumpyTest, LabelsMayBeNamesOfClasses) {
  Write("in/labels.npy", TextNpy(5, {"tools", "", "games"}));
  FGNN_ASSERT_OK(Import());
  EXPECT_THAT(ToVector(Out().labels()), ElementsAre(1, -1, 0));
  EXPECT_EQ(ReadOut("class_names.txt"), "games\ntools\n");
}

TEST_F(ImportNumpyTest, NamesOfClassesMayStandBesideNumbers) {
  Write("in/labels.npy", Npy<int64_t>({1, -1, 0}));
  Write("in/class_names.npy",
        RawNpy("{'descr': '|S5', 'fortran_order': False, 'shape': (2,), }",
               std::string_view("toolsweb\0\0", 10)));
  const ImportSummary summary = Taken(Import());
  EXPECT_EQ(ReadOut("class_names.txt"), "tools\nweb\n");
  EXPECT_THAT(summary.left_out, testing::IsEmpty());

  Write("in/class_names.npy",
        RawNpy("{'descr': '|S5', 'fortran_order': False, 'shape': (2,), }",
               "tools\xdfweb."));
  ExpectError("class_names.npy: element 1 is not UTF-8 text");
  Write("in/class_names.npy",
        RawNpy("{'descr': '|S5', 'fortran_order': False, 'shape': (2,), }",
               "tools"));
  ExpectError("class_names.npy: is truncated");
  Write("in/indices.npy", TextNpy(1, {"1", "2", "0"}));
  ExpectError("indices.npy: holds text, type '<U1'");
}

TEST_F(ImportNumpyTest, SplitsCanBeChosen) {
  Write("in/labels.npy", Npy<int64_t>({0, 0, 0}));
  Write("in/train_idx.npy", Npy<int64_t>({0}));
  Write("in/train60_idx.npy", Npy<int64_t>({1}));
  Write("in/valid20_idx.npy", Npy<int64_t>({2}));
  Write("in/test20_idx.npy", Npy<int64_t>({0}));
  source_.split = "60";
  FGNN_ASSERT_OK(Import());
  EXPECT_THAT(ToVector(Out().train()), ElementsAre(1));
  EXPECT_THAT(ToVector(Out().valid()), ElementsAre(2));

  source_.split.clear();
  source_.train_file = "train_idx.npy";
  source_.valid_file = "train60_idx.npy";
  source_.test_file = "valid20_idx.npy";
  const ImportSummary summary = Taken(Import());
  EXPECT_EQ(summary.num_test, 1U);

  source_.test_file.clear();
  ExpectError("--train-file, --valid-file and --test-file go together");
  source_ = NumpySource{source_.folder, "70", {}, {}, {}};
  ExpectError("--split 70 needs train70_idx.npy");
}

TEST_F(ImportNumpyTest, DamageIsNamed) {
  Write("in/indptr.npy", Npy<int64_t>({0, 2, 1, 3}));
  ExpectError("indptr.npy: element 2 is 1");
  Write("in/indptr.npy", Npy<int64_t>({0, 2, 2, 4}));
  ExpectError("indptr.npy: element 3 is 4");
  Write("in/indptr.npy", Npy<int64_t>({0, 1, 1, 2}));
  ExpectError("indptr.npy: ends at 2");
  Write("in/indptr.npy", Npy<int64_t>({1, 2, 2, 3}));
  ExpectError("indptr.npy: starts at 1");
  Write("in/indptr.npy", Npy<int64_t>({0, 2, 2, 3}));
  Write("in/indices.npy", Npy<int32_t>({1, 3, 0}));
  ExpectError("indices.npy: element 1 is 3; it must be from 0 to 2");
  Write("in/indices.npy", Npy<int32_t>({1, -1, 0}));
  ExpectError("indices.npy: element 1 is -1");
  Write("in/indices.npy", Npy<float>({1, 0.5, 0}));
  ExpectError("indices.npy: element 1 is not a whole number");
  const std::string whole = Npy<int32_t>({1, 2, 0});
  Write("in/indices.npy", whole.substr(0, whole.size() - 4));
  ExpectError("indices.npy: holds");
  Write("in/indices.npy", "no array");
  ExpectError("indices.npy: not a readable .npy header");
  std::filesystem::remove(folder_ / "in/indices.npy");
  ExpectError("has no indices.npy");
}

TEST_F(ImportNumpyTest, BadValuesAreNamed) {
  options_.labels_are = LabelKind::kClasses;
  Write("in/labels.npy", Npy<float>({0, 0.5, 1}));
  ExpectError("labels.npy: element 1 is 0.5");
  Write("in/labels.npy", Npy<int64_t>({3, 2}, {0, 0, 0, 0, 0, 0}));
  ExpectError("labels.npy: 2 labels a vertex");
  Write("in/labels.npy", Npy<int64_t>({0, 1, -1}));
  Write("in/train_idx.npy", Npy<int64_t>({0, 3}));
  ExpectError("train_idx.npy: element 1 of the train split is 3");
  Write("in/train_idx.npy", Npy<int64_t>({0, 2}));
  ExpectError("vertex 2 of the train split has no label");
  std::filesystem::remove(folder_ / "in/train_idx.npy");
  Write("in/edge_weights.npy", Npy<float>({1, -1, 1}));
  ExpectError("edge_weights.npy: an entry of row 0 is -1");
  Write("in/edge_weights.npy", Npy<float>({1, 1}));
  ExpectError("edge_weights.npy: 2 values for the 3 entries");
  std::filesystem::remove(folder_ / "in/edge_weights.npy");
  Write("in/features.npy", Npy<float>({3, 1}, {0, 70000, 0}));
  options_.feature_type = FeatureType::kFloat16;
  ExpectError("feature column 0 of vertex 1 is 70000, beyond the range of f16");
}

// Longer than the chunks that arrays are read in.
TEST_F(ImportNumpyTest, LongRowsAndManyRowsSurviveChunking) {
  constexpr int64_t kNodes = 100000;
  std::vector<int64_t> indptr = {0, kNodes};
  std::vector<int32_t> indices;
  for (int32_t v = 0; v < kNodes; ++v) indices.push_back(v);
  for (int32_t v = 1; v < kNodes; ++v) {
    indices.push_back(v - 1);
    indptr.push_back(static_cast<int64_t>(indices.size()));
  }
  Write("in/indptr.npy", Npy<int64_t>(indptr));
  Write("in/indices.npy", Npy<int32_t>(indices));

  FGNN_ASSERT_OK(Import());

  EXPECT_EQ(Out().num_edges(), 2U * kNodes - 1);
  EXPECT_EQ(InNeighbors(0).size(), static_cast<size_t>(kNodes));
  EXPECT_EQ(InNeighbors(0)[70000], 70000);
  EXPECT_THAT(InNeighbors(99999), ElementsAre(99998));
}

class ImportNpzTest : public ImportTest {
 protected:
  using Arrays = std::map<std::string, std::string>;
  absl::StatusOr<ImportSummary> Import(const Arrays& arrays,
                                       bool compressed = false) {
    return From(ImportNpz, {WriteNpz("in.npz", arrays, compressed)});
  }
  void ExpectError(const Arrays& arrays, const std::string& message) {
    EXPECT_THAT(Import(arrays).status().message(), HasSubstr(message));
    EXPECT_TRUE(NothingLeft());
  }
  const Arrays matrix_ = {{"adj_indptr", Npy<int32_t>({0, 2, 3, 3})},
                          {"adj_indices", Npy<int32_t>({1, 2, 2})},
                          {"adj_data", Npy<float>({1, 1, 1})},
                          {"adj_shape", Npy<int64_t>({3, 3})}};
};

TEST_F(ImportNpzTest, RowsOfAMatrixAreSources) {
  Arrays arrays = matrix_;
  arrays["attr_indptr"] = Npy<int32_t>({0, 1, 1, 2});
  arrays["attr_indices"] = Npy<int32_t>({1, 0});
  arrays["attr_data"] = Npy<float>({5, 6});
  arrays["attr_shape"] = Npy<int64_t>({3, 2});
  arrays["labels"] = Npy<int32_t>({2, 0, 1});

  const ImportSummary summary = Taken(Import(arrays));

  EXPECT_THAT(InNeighbors(0), IsEmpty());
  EXPECT_THAT(InNeighbors(1), ElementsAre(0));
  EXPECT_THAT(InNeighbors(2), ElementsAre(0, 1));
  EXPECT_THAT(Features(0), ElementsAre(0, 5));
  EXPECT_THAT(Features(2), ElementsAre(6, 0));
  EXPECT_EQ(summary.num_classes, 3U);
  EXPECT_TRUE(Out().edge_weights().empty());  // All were 1.
}

TEST_F(ImportNpzTest, OtherValuesThanOneAreWeights) {
  Arrays arrays = matrix_;
  arrays["adj_data"] = Npy<float>({1, 2, 3});
  FGNN_ASSERT_OK(Import(arrays));
  EXPECT_THAT(Out().edge_weights(), ElementsAre(1, 2, 3));
}

TEST_F(ImportNpzTest, EdgeIndexAndMasksAreTakenCompressedOrNot) {
  const Arrays arrays = {
      {"edge_index", Npy<int64_t>({2, 3}, {0, 1, 2, 1, 2, 0})},
      {"x", Npy<float>({4, 1}, {1, 2, 3, 4})},
      {"y", Npy<int64_t>({4, 1}, {0, 1, 0, 1})},
      {"train_mask", Npy<uint8_t>({1, 1, 0, 0})},
      {"val_mask", Npy<int64_t>({0, 0, 1, 0})},
      {"test_mask", Npy<uint8_t>({0, 0, 0, 1})}};
  for (const bool compressed : {false, true}) {
    SCOPED_TRACE(compressed);
    const ImportSummary summary = Taken(Import(arrays, compressed));
    EXPECT_EQ(summary.num_nodes, 4U);
    EXPECT_EQ(summary.num_edges, 3U);
    EXPECT_EQ(summary.num_train, 2U);
    EXPECT_EQ(summary.num_valid, 1U);
  }
  EXPECT_THAT(InNeighbors(1), ElementsAre(0));
  EXPECT_THAT(InNeighbors(0), ElementsAre(2));
  EXPECT_THAT(ToVector(Out().valid()), ElementsAre(2));
}

TEST_F(ImportNpzTest, PairsOfARowAreAnEdgeIndexToo) {
  FGNN_ASSERT_OK(
      Import({{"edge_index", Npy<int64_t>({3, 2}, {0, 1, 1, 2, 2, 0})}}));
  EXPECT_THAT(InNeighbors(1), ElementsAre(0));
  EXPECT_THAT(InNeighbors(0), ElementsAre(2));
}

TEST_F(ImportNpzTest, BadArchivesAreNamed) {
  ExpectError({{"a", Npy<int64_t>({1})}},
              "has neither adj_indptr nor edge_index but a");
  Arrays arrays = matrix_;
  arrays["adj_shape"] = Npy<int64_t>({3, 4});
  ExpectError(arrays, "in.npz (adj_shape): says [3, 4]");
  ExpectError({{"edge_index", Npy<int64_t>({2, 1}, {0, 5})},
               {"x", Npy<float>({2, 1}, {0, 1})}},
              "in.npz (edge_index): an end of edge 0 is 5");
  ExpectError({{"edge_index", Npy<int64_t>({0, 1, 2})}},
              "in.npz (edge_index): is not an array [2, edges]");
  EXPECT_THAT(
      From(ImportNpz, {Write("text.npz", "not an archive")}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("text.npz")));
  EXPECT_THAT(From(ImportNpz, {folder_ / "missing.npz"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("missing.npz")));
  EXPECT_TRUE(NothingLeft());
}

TEST_F(ImportNpzTest, ADamagedMemberIsFound) {
  const std::filesystem::path path =
      WriteNpz("in.npz", {{"edge_index", Npy<int64_t>({2, 2}, {0, 1, 1, 0})}});
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  // The first 1 of the array: still a vertex, so that only the CRC can tell.
  const size_t one = bytes.find(std::string("\x01\0\0\0\0\0\0\0\x01", 9));
  ASSERT_NE(one, std::string::npos);
  file.seekp(static_cast<std::streamoff>(one));
  file.put('\0');
  file.close();

  EXPECT_THAT(From(ImportNpz, {path}),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("edge_index"), HasSubstr("damaged"))));
  EXPECT_TRUE(NothingLeft());
}

TEST(FloatBits, HalvesSurviveTheWayThereAndBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = HalfToFloat(half);
    if (std::isnan(value)) continue;
    ASSERT_EQ(FloatToHalf(value), half) << bits;
  }
  EXPECT_EQ(FloatToHalf(65519.0F), 0x7BFF);
  EXPECT_EQ(FloatToHalf(65520.0F), 0x7C00);
  EXPECT_EQ(FloatToHalf(1.0F + 0x1p-11F), 0x3C00);  // Ties to even.
  EXPECT_EQ(FloatToHalf(1.0F + 0x3p-11F), 0x3C02);
  EXPECT_EQ(FloatToBfloat16(1.0F + 0x1p-8F), 0x3F80);
  EXPECT_EQ(FloatToBfloat16(1.0F + 0x3p-8F), 0x3F82);
}

}  // namespace
}  // namespace fgnn
