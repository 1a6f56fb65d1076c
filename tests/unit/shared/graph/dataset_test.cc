#include "shared/graph/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/graph/metadata.h"
#include "shared/graph/npy.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

namespace fs = std::filesystem;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename T>
void WriteArray(const fs::path& path, NpyType type,
                const std::vector<T>& values,
                std::vector<uint64_t> row_shape = {}) {
  absl::StatusOr<NpyWriter> writer =
      NpyWriter::Create(path, type, std::move(row_shape));
  ASSERT_THAT(writer, IsOk());
  FGNN_ASSERT_OK(writer->Append(values.data(), values.size() * sizeof(T)));
  FGNN_ASSERT_OK(writer->Close());
}

// Four vertices, in-neighbours 0: {1, 2}, 1: {}, 2: {3}, 3: {0, 1, 2}.
struct Content {
  DatasetMetadata metadata;
  std::vector<int64_t> indptr = {0, 2, 2, 3, 6};
  std::vector<uint32_t> indices = {1, 2, 3, 0, 1, 2};
  std::vector<float> features = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<int64_t> labels = {0, 2, -1, 1};
  std::vector<int64_t> train = {3, 0};
  std::vector<int64_t> valid = {1};
  std::vector<int64_t> test = {};
  std::vector<float> weights = {1, 0, 2, 3, 4, 5};
  std::string names = "zero\none\ntwo\nthree\n";
};

class DatasetTest : public testing::Test {
 protected:
  DatasetTest() {
    content_.metadata.name = "four";
    content_.metadata.num_nodes = 4;
    content_.metadata.num_edges = 6;
    content_.metadata.feature_columns = 2;
    content_.metadata.num_classes = 3;
  }

  fs::path folder() const { return temp_.path(); }

  void Write() const {
    std::ofstream(folder() / "metadata.yaml")
        << FormatMetadata(content_.metadata);
    WriteArray(folder() / "csc_indptr.npy", NpyType::kI64, content_.indptr);
    WriteArray(folder() / "indices.npy", NpyType::kU32, content_.indices);
    WriteArray(folder() / "features.npy", NpyType::kF32, content_.features,
               {2});
    WriteArray(folder() / "labels.npy", NpyType::kI64, content_.labels);
    WriteArray(folder() / "train.npy", NpyType::kI64, content_.train);
    WriteArray(folder() / "valid.npy", NpyType::kI64, content_.valid);
    WriteArray(folder() / "test.npy", NpyType::kI64, content_.test);
    WriteArray(folder() / "edge_weights.npy", NpyType::kF32, content_.weights);
    std::ofstream(folder() / "names.txt") << content_.names;
  }

  absl::Status OpenStatus(Validation validation = Validation::kEverything) {
    return Dataset::Open(folder(), validation).status();
  }

  // That the folder is refused in one line with the file, place and reason.
  void ExpectRefused(const std::string& file, const std::string& place,
                     const std::string& reason) {
    EXPECT_THAT(OpenStatus(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr((folder() / file).string() + ": "),
                               HasSubstr(place), HasSubstr(reason),
                               HasSubstr("; "), Not(HasSubstr("\n")))));
  }

  TempFolder temp_;
  Content content_;
};

TEST_F(DatasetTest, ReadsBackWhatWasWritten) {
  Write();
  for (const Validation validation :
       {Validation::kShapes, Validation::kStructure, Validation::kEverything}) {
    FGNN_ASSERT_OK_AND_ASSIGN(const Dataset dataset,
                              Dataset::Open(folder(), validation));
    EXPECT_EQ(dataset.name(), "four");
    EXPECT_EQ(dataset.num_nodes(), 4U);
    EXPECT_EQ(dataset.num_edges(), 6U);
    EXPECT_EQ(dataset.num_classes(), 3U);
    EXPECT_THAT(dataset.graph().indptr, ElementsAre(0, 2, 2, 3, 6));
    EXPECT_THAT(std::get<absl::Span<const uint32_t>>(dataset.graph().indices),
                ElementsAre(1, 2, 3, 0, 1, 2));
    EXPECT_EQ(MaxInDegree(dataset.graph()), 3U);
    EXPECT_EQ(dataset.features().columns, 2U);
    float row[2];
    std::memcpy(row, dataset.features().row(3), sizeof(row));
    EXPECT_THAT(row, ElementsAre(6, 7));
    EXPECT_THAT(dataset.labels(), ElementsAre(0, 2, -1, 1));
    EXPECT_THAT(dataset.train(), ElementsAre(3, 0));
    EXPECT_THAT(dataset.valid(), ElementsAre(1));
    EXPECT_THAT(dataset.test(), IsEmpty());
    EXPECT_THAT(dataset.edge_weights(), ElementsAre(1, 0, 2, 3, 4, 5));
    EXPECT_EQ(dataset.NodeName(2), "two");
    EXPECT_EQ(dataset.NodeName(4), "");
    EXPECT_GT(dataset.total_bytes(), 6U * 4 + 8 * 4);
  }
}

TEST_F(DatasetTest, NeedsTopologyAlone) {
  content_.metadata.feature_columns = 0;
  content_.metadata.num_classes = 0;
  Write();
  for (const char* file :
       {"features.npy", "labels.npy", "train.npy", "valid.npy", "test.npy",
        "edge_weights.npy", "names.txt"}) {
    fs::remove(folder() / file);
  }
  FGNN_ASSERT_OK_AND_ASSIGN(const Dataset dataset,
                            Dataset::Open(folder(), Validation::kEverything));
  EXPECT_EQ(dataset.features().rows, 0U);
  EXPECT_THAT(dataset.labels(), IsEmpty());
  EXPECT_THAT(dataset.train(), IsEmpty());
  EXPECT_THAT(dataset.edge_weights(), IsEmpty());
  EXPECT_FALSE(dataset.has_names());
  EXPECT_EQ(dataset.NodeName(0), "");
}

TEST_F(DatasetTest, ReadsSignedAndWideIndices) {
  Write();
  WriteArray<int32_t>(folder() / "indices.npy", NpyType::kI32,
                      {1, 2, 3, 0, 1, 2});
  EXPECT_THAT(OpenStatus(), IsOk());
  WriteArray<int64_t>(folder() / "indices.npy", NpyType::kI64,
                      {1, 2, 3, 0, 1, 2});
  FGNN_ASSERT_OK_AND_ASSIGN(const Dataset dataset,
                            Dataset::Open(folder(), Validation::kStructure));
  EXPECT_THAT(std::get<absl::Span<const int64_t>>(dataset.graph().indices),
              ElementsAre(1, 2, 3, 0, 1, 2));
}

TEST_F(DatasetTest, RefusesIndicesOutOfRange) {
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
TEST_F(DatasetTest, FindsOneBadIndexAmongMillions) {
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

TEST_F(DatasetTest, RefusesABadIndptr) {
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

TEST_F(DatasetTest, RefusesShapesThatDoNotAgree) {
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

TEST_F(DatasetTest, RefusesTypesThatDoNotAgree) {
  content_.metadata.feature_type = FeatureType::kBfloat16;
  Write();
  ExpectRefused("features.npy", "'<f4'", "'<u2'");
  content_.metadata.feature_type = FeatureType::kFloat32;
  Write();
  WriteArray<int32_t>(folder() / "labels.npy", NpyType::kI32, {0, 2, -1, 1});
  ExpectRefused("labels.npy", "'<i4'", "'<i8'");
}

TEST_F(DatasetTest, RefusesFilesThatMetadataDoesNotKnow) {
  content_.metadata.feature_columns = 0;
  Write();
  ExpectRefused("features.npy", "feature_columns 0", "remove the file");
  content_.metadata.feature_columns = 2;
  content_.metadata.num_classes = 0;
  Write();
  ExpectRefused("labels.npy", "num_classes 0", "remove the file");
}

TEST_F(DatasetTest, RefusesLabelsOutOfRange) {
  for (const int64_t label :
       {int64_t{3}, int64_t{-2}, std::numeric_limits<int64_t>::max(),
        std::numeric_limits<int64_t>::min()}) {
    content_.labels[1] = label;
    Write();
    ExpectRefused("labels.npy", absl::StrCat("element 1 is ", label),
                  "not in [-1, 3)");
  }
}

TEST_F(DatasetTest, RefusesBadSplits) {
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

TEST_F(DatasetTest, RefusesFeaturesThatAreNotFinite) {
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

TEST_F(DatasetTest, RefusesHalfFeaturesThatAreNotFinite) {
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

TEST_F(DatasetTest, RefusesBadEdgeWeights) {
  for (const float weight : {-1.0F, kNan, kInfinity}) {
    content_.weights[5] = weight;
    Write();
    ExpectRefused("edge_weights.npy", "element 5", "not negative");
  }
}

TEST_F(DatasetTest, RefusesNamesThatAreNotOnePerVertex) {
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

TEST_F(DatasetTest, NamesWhatIsMissing) {
  Write();
  for (const std::string file :
       {"csc_indptr.npy", "indices.npy", "features.npy", "labels.npy",
        "metadata.yaml"}) {
    const fs::path away = folder() / "away";
    fs::rename(folder() / file, away);
    EXPECT_THAT(OpenStatus(Validation::kShapes),
                StatusIs(absl::StatusCode::kNotFound,
                         AllOf(HasSubstr((folder() / file).string()),
                               HasSubstr("missing"), HasSubstr("; "))));
    fs::rename(away, folder() / file);
  }
  EXPECT_THAT(Dataset::Open(folder() / "nowhere", Validation::kShapes),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("nowhere"), HasSubstr("; "))));
  EXPECT_THAT(
      Dataset::Open(folder() / "names.txt", Validation::kShapes),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a folder")));
}

TEST_F(DatasetTest, SaysThatAFolderCannotBeRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  Write();
  ASSERT_EQ(::chmod(folder().c_str(), 0), 0);
  const absl::Status status = OpenStatus();
  ASSERT_EQ(::chmod(folder().c_str(), 0700), 0);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kPermissionDenied,
                               HasSubstr("chmod")));
}

// Any file cut at any place is refused, whatever is looked at.
TEST_F(DatasetTest, RefusesEveryTruncation) {
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
      EXPECT_THAT(OpenStatus(Validation::kShapes),
                  StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(file)))
          << length;
      std::ofstream(folder() / file, std::ios::binary) << bytes;
    }
  }
  EXPECT_THAT(OpenStatus(), IsOk());
}

TEST_F(DatasetTest, FingerprintFollowsEveryFileAndNothingElse) {
  Write();
  const auto fingerprint = [this] {
    return Dataset::Open(folder(), Validation::kShapes)->Fingerprint();
  };
  uint64_t before = fingerprint();
  EXPECT_EQ(fingerprint(), before);
  std::ofstream(folder() / "README.txt") << "hello";
  fs::create_directory(folder() / "derived");
  EXPECT_EQ(fingerprint(), before);
  for (const char* file : {"metadata.yaml", "csc_indptr.npy", "names.txt"}) {
    // Another modification time is enough; add a second, clocks are coarse.
    fs::last_write_time(folder() / file, fs::last_write_time(folder() / file) +
                                             std::chrono::seconds(1));
    EXPECT_NE(fingerprint(), before) << file;
    before = fingerprint();
  }
  fs::remove(folder() / "edge_weights.npy");
  EXPECT_NE(fingerprint(), before);
}

TEST_F(DatasetTest, ValidateOnceRemembersSuccessAndOnlyThat) {
  content_.features[0] = kNan;
  Write();
  EXPECT_FALSE(ValidateOnce(folder()).ok());
  EXPECT_FALSE(ValidateOnce(folder()).ok());
  content_.features[0] = 0;
  Write();
  EXPECT_THAT(ValidateOnce(folder()), IsOk());
  ASSERT_TRUE(fs::exists(folder() / "derived" / "validated"));

  // Damage that the state of the file does not show is not looked for again …
  const auto path = folder() / "features.npy";
  const auto time = fs::last_write_time(path);
  {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(-4, std::ios::end);
    file.write(reinterpret_cast<const char*>(&kNan), 4);
  }
  fs::last_write_time(path, time);
  EXPECT_THAT(ValidateOnce(folder()), IsOk());
  // … but is, once the state has changed.
  fs::last_write_time(path, time + std::chrono::seconds(1));
  EXPECT_THAT(ValidateOnce(folder()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("row 3, column 1")));
}

TEST_F(DatasetTest, NamesCanBeAskedForFromManyThreads) {
  Write();
  FGNN_ASSERT_OK_AND_ASSIGN(const Dataset dataset,
                            Dataset::Open(folder(), Validation::kShapes));
  std::vector<std::thread> threads;
  std::vector<std::string_view> found(8);
  for (size_t i = 0; i < found.size(); ++i) {
    threads.emplace_back([&dataset, &found, i] {
      found[i] = dataset.NodeName(static_cast<GlobalId>(i % 4));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(found, ElementsAre("zero", "one", "two", "three", "zero", "one",
                                 "two", "three"));
}

}  // namespace
}  // namespace fgnn
