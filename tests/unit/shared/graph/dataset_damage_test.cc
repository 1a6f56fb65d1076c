// What is wrong with a folder is named: file, place, reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/graph/dataset.h"
#include "shared/graph/metadata.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/shared/graph/dataset_folder.h"

namespace fgnn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

using DatasetDamageTest = DatasetTest;

TEST_F(DatasetDamageTest, RefusesIndicesOutOfRange) {
  content_.indices[4] = 4;
  Write();
  ExpectRefused("indices.npy", "element 4 is 4", "has 4 vertices");
  WriteArray<int32_t>(folder() / "indices.npy", NpyType::kI32,
                      {1, 2, 3, -1, 1, 2});
  ExpectRefused("indices.npy", "element 3 is -1", "has 4 vertices");
  WriteArray<int64_t>(folder() / "indices.npy", NpyType::kI64,
                      {1, -2, 3, 0, 1, 2});
  ExpectRefused("indices.npy", "element 1 is -2", "has 4 vertices");
  // Whose low 32 bits are in range.
  WriteArray<int64_t>(folder() / "indices.npy", NpyType::kI64,
                      {1, 2, 3, int64_t{1} << 32, 1, 2});
  ExpectRefused("indices.npy", "element 3 is 4294967296", "has 4 vertices");
}

// Past the first block and the first chunk of pages that is given back.
TEST_F(DatasetDamageTest, FindsOneBadIndexAmongMillions) {
  constexpr size_t kEdges = 9'000'001;
  content_.metadata.num_edges = kEdges;
  content_.indptr = {0, 1, 2, 3, kEdges};
  content_.indices.assign(kEdges, 3);
  content_.weights.assign(kEdges, 1);
  Write();
  EXPECT_THAT(OpenStatus(), IsOk());
  for (const size_t place : {size_t{0}, size_t{4'194'304}, kEdges - 1}) {
    content_.indices[place] = 5;
    WriteArray(folder() / "indices.npy", NpyType::kU32, content_.indices);
    content_.indices[place] = 3;
    ExpectRefused("indices.npy", absl::StrCat("element ", place, " is 5"),
                  "has 4 vertices");
  }
}

TEST_F(DatasetDamageTest, RefusesABadIndptr) {
  content_.indptr = {0, 2, 1, 3, 6};
  Write();
  ExpectRefused("csc_indptr.npy", "element 2 is 1", "less than the 2");
  content_.indptr = {1, 2, 2, 3, 6};
  Write();
  ExpectRefused("csc_indptr.npy", "element 0 is 1", "must be 0");
  content_.indptr = {0, 2, 2, 3, 7};
  Write();
  ExpectRefused("csc_indptr.npy", "element 4 is 7", "6 edges");
  content_.indptr = {0, -1, 2, 3, 6};
  Write();
  ExpectRefused("csc_indptr.npy", "element 1 is -1", "less than the 0");
}

TEST_F(DatasetDamageTest, RefusesShapesThatDoNotAgree) {
  content_.indptr = {0, 2, 2, 6};
  Write();
  ExpectRefused("csc_indptr.npy", "shape is (4)", "(5) is wanted");
  content_ = Content{content_.metadata};
  content_.labels.push_back(0);
  Write();
  ExpectRefused("labels.npy", "shape is (5)", "(4) is wanted");
  content_ = Content{content_.metadata};
  content_.features.resize(6);
  Write();
  ExpectRefused("features.npy", "shape is (3, 2)", "(4, 2) is wanted");
  content_ = Content{content_.metadata};
  content_.weights.pop_back();
  Write();
  ExpectRefused("edge_weights.npy", "shape is (5)", "(6) is wanted");
}

TEST_F(DatasetDamageTest, RefusesTypesThatDoNotAgree) {
  content_.metadata.feature_type = FeatureType::kBfloat16;
  Write();
  ExpectRefused("features.npy", "'<f4'", "'<u2'");
  content_.metadata.feature_type = FeatureType::kFloat32;
  Write();
  WriteArray<int32_t>(folder() / "labels.npy", NpyType::kI32, {0, 2, -1, 1});
  ExpectRefused("labels.npy", "'<i4'", "'<i8'");
}

TEST_F(DatasetDamageTest, RefusesFilesThatMetadataDoesNotKnow) {
  content_.metadata.feature_columns = 0;
  Write();
  ExpectRefused("features.npy", "feature_columns 0", "remove the file");
  content_.metadata.feature_columns = 2;
  content_.metadata.num_classes = 0;
  Write();
  ExpectRefused("labels.npy", "num_classes 0", "remove the file");
}

TEST_F(DatasetDamageTest, RefusesLabelsOutOfRange) {
  for (const int64_t label :
       {int64_t{3}, int64_t{-2}, std::numeric_limits<int64_t>::max(),
        std::numeric_limits<int64_t>::min()}) {
    content_.labels[1] = label;
    Write();
    ExpectRefused("labels.npy", absl::StrCat("element 1 is ", label),
                  "not in [-1, 3)");
  }
}

TEST_F(DatasetDamageTest, RefusesBadSplits) {
  content_.train = {3, 4};
  Write();
  ExpectRefused("train.npy", "element 1 is 4", "has 4 vertices");
  content_.train = {-1};
  Write();
  ExpectRefused("train.npy", "element 0 is -1", "has 4 vertices");
  content_.train = {3, 0, 3};
  Write();
  ExpectRefused("train.npy", "element 2 is vertex 3", "there before");
  content_.train = {3, 0};
  content_.valid = {1, 2};
  Write();
  ExpectRefused("valid.npy", "element 1 is vertex 2", "no label");
  content_.valid = {1};
  Write();
  WriteArray<int64_t>(folder() / "test.npy", NpyType::kI64, {0, 1}, {1});
  ExpectRefused("test.npy", "2 dimensions", "has one");
}

TEST_F(DatasetDamageTest, RefusesFeaturesThatAreNotFinite) {
  for (const auto& [value, name] : {std::pair{kNan, "NaN"},
                                    {-kNan, "NaN"},
                                    {kInfinity, "infinite"},
                                    {-kInfinity, "infinite"}}) {
    content_.features[5] = value;
    Write();
    ExpectRefused("features.npy", "row 2, column 1", name);
    EXPECT_THAT(OpenStatus(Validation::kStructure), IsOk());
  }
}

TEST_F(DatasetDamageTest, RefusesHalfFeaturesThatAreNotFinite) {
  struct Case {
    FeatureType type;
    NpyType stored;
    uint16_t largest, infinity, nan;
  };
  for (const Case& c :
       {Case{FeatureType::kFloat16, NpyType::kF16, 0x7bff, 0xfc00, 0x7c01},
        Case{FeatureType::kBfloat16, NpyType::kU16, 0x7f7f, 0xff80, 0x7f81}}) {
    content_.metadata.feature_type = c.type;
    Write();
    std::vector<uint16_t> values(8, c.largest);
    WriteArray(folder() / "features.npy", c.stored, values, {2});
    EXPECT_THAT(OpenStatus(), IsOk());
    values[7] = c.nan;
    WriteArray(folder() / "features.npy", c.stored, values, {2});
    ExpectRefused("features.npy", "row 3, column 1", "NaN");
    values[0] = c.infinity;
    WriteArray(folder() / "features.npy", c.stored, values, {2});
    ExpectRefused("features.npy", "row 0, column 0", "infinite");
  }
}

TEST_F(DatasetDamageTest, RefusesBadEdgeWeights) {
  for (const float weight : {-1.0F, kNan, kInfinity}) {
    content_.weights[5] = weight;
    Write();
    ExpectRefused("edge_weights.npy", "element 5", "not negative");
  }
}

TEST_F(DatasetDamageTest, RefusesNamesThatAreNotOnePerVertex) {
  content_.names = "a\nb\nc\n";
  Write();
  ExpectRefused("names.txt", "has 3 lines", "has 4 vertices");
  content_.names = "a\nb\n\nd";  // An empty name, and no newline at the end.
  Write();
  FGNN_ASSERT_OK_AND_ASSIGN(const Dataset dataset,
                            Dataset::Open(folder(), Validation::kEverything));
  EXPECT_EQ(dataset.NodeName(2), "");
  EXPECT_EQ(dataset.NodeName(3), "d");
}

TEST_F(DatasetDamageTest, NamesWhatIsMissing) {
  Write();
  for (const std::string file :
       {"csc_indptr.npy", "indices.npy", "features.npy", "labels.npy",
        "metadata.yaml"}) {
    const fs::path away = folder() / "away";
    fs::rename(folder() / file, away);
    EXPECT_THAT(OpenStatus(Validation::kShapes),
                NotFound((folder() / file).string(), "missing", "; "));
    fs::rename(away, folder() / file);
  }
  EXPECT_THAT(Dataset::Open(folder() / "nowhere", Validation::kShapes),
              NotFound("nowhere", "; "));
  EXPECT_THAT(Dataset::Open(folder() / "names.txt", Validation::kShapes),
              InvalidArgument("not a folder"));
}

TEST_F(DatasetDamageTest, SaysThatAFolderCannotBeRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  Write();
  ASSERT_EQ(::chmod(folder().c_str(), 0), 0);
  const absl::Status status = OpenStatus();
  ASSERT_EQ(::chmod(folder().c_str(), 0700), 0);
  EXPECT_THAT(status, PermissionDenied("chmod"));
}

// Any file cut at any place is refused, whatever is looked at.
TEST_F(DatasetDamageTest, RefusesEveryTruncation) {
  Write();
  for (const char* file :
       {"csc_indptr.npy", "indices.npy", "features.npy", "labels.npy",
        "train.npy", "valid.npy", "test.npy", "edge_weights.npy"}) {
    const auto whole = fs::file_size(folder() / file);
    std::ifstream in(folder() / file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    for (const auto length :
         {uintmax_t{0}, uintmax_t{5}, uintmax_t{40}, whole - 1}) {
      fs::resize_file(folder() / file, length);
      EXPECT_THAT(OpenStatus(Validation::kShapes), DataLoss(file)) << length;
      std::ofstream(folder() / file, std::ios::binary) << bytes;
    }
  }
  EXPECT_THAT(OpenStatus(), IsOk());
}

}  // namespace
}  // namespace fgnn
