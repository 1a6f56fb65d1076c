#include "shared/graph/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/shared/graph/dataset_folder.h"

namespace fgnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

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
    const FeatureFile file = dataset.feature_file();
    EXPECT_EQ(file.columns, 2U);
    EXPECT_EQ(file.offset + file.rows * file.row_bytes(),
              std::filesystem::file_size(file.path));
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

std::vector<Edge> Listed(const EdgeView& edges) {
  std::vector<Edge> all;
  for (uint64_t i = 0; i < edges.size(); ++i) all.push_back(edges[i]);
  return all;
}

TEST_F(DatasetTest, EveryEdgeIsForTrainingWithoutAFileOfThem) {
  Write();
  FGNN_ASSERT_OK_AND_ASSIGN(const Dataset dataset,
                            Dataset::Open(folder(), Validation::kStructure));
  EXPECT_FALSE(dataset.has_train_edges());
  EXPECT_THAT(Listed(dataset.train_edges()),
              ElementsAre(Edge{1, 0}, Edge{2, 0}, Edge{3, 2}, Edge{0, 3},
                          Edge{1, 3}, Edge{2, 3}));
  EXPECT_TRUE(dataset.valid_edges().empty());
  EXPECT_TRUE(dataset.test_edges().empty());
}

TEST_F(DatasetTest, ReadsEdgesOfBothWidths) {
  Write();
  WriteArray<uint32_t>(folder() / "train_edges.npy", NpyType::kU32,
                       {1, 0, 3, 2}, {2});
  WriteArray<int64_t>(folder() / "valid_edges.npy", NpyType::kI64, {2, 3}, {2});
  WriteArray<uint32_t>(folder() / "test_edges.npy", NpyType::kU32, {}, {2});
  FGNN_ASSERT_OK_AND_ASSIGN(const Dataset dataset,
                            Dataset::Open(folder(), Validation::kStructure));
  EXPECT_TRUE(dataset.has_train_edges());
  EXPECT_THAT(Listed(dataset.train_edges()),
              ElementsAre(Edge{1, 0}, Edge{3, 2}));
  EXPECT_THAT(Listed(dataset.valid_edges()), ElementsAre(Edge{2, 3}));
  EXPECT_TRUE(dataset.test_edges().empty());
}

TEST_F(DatasetTest, RefusesEdgesThatAreNone) {
  Write();
  WriteArray<uint32_t>(folder() / "train_edges.npy", NpyType::kU32,
                       {1, 0, 3, 4}, {2});
  ExpectRefused("train_edges.npy", "row 1, column 1 is 4", "4 vertices");
  WriteArray<int64_t>(folder() / "train_edges.npy", NpyType::kI64, {-1, 0},
                      {2});
  ExpectRefused("train_edges.npy", "row 0, column 0 is -1", "4 vertices");
  fs::remove(folder() / "train_edges.npy");
  WriteArray<float>(folder() / "valid_edges.npy", NpyType::kF32, {1, 0}, {2});
  EXPECT_THAT(OpenStatus(), InvalidArgument("valid_edges.npy"));
  WriteArray<uint32_t>(folder() / "valid_edges.npy", NpyType::kU32, {1, 0});
  EXPECT_THAT(OpenStatus(), InvalidArgument("(n, 2)"));
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
  EXPECT_FALSE(ValidateOnce(folder(), state_dir()).ok());
  EXPECT_FALSE(ValidateOnce(folder(), state_dir()).ok());
  content_.features[0] = 0;
  Write();
  EXPECT_THAT(ValidateOnce(folder(), state_dir()), IsOk());
  // The mark is the service's.
  EXPECT_FALSE(fs::exists(folder() / "derived"));
  EXPECT_EQ(NumMarks(), 1);

  int passes = 0;
  const auto count = [&passes] {
    ++passes;
    return absl::OkStatus();
  };
  EXPECT_THAT(ValidateOnce(folder(), state_dir(), count), IsOk());
  EXPECT_EQ(passes, 0);
  // Whoever changes a file can set its modification time back, but not the time
  // of that change.
  const auto path = folder() / "features.npy";
  const auto time = fs::last_write_time(path);
  {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(-4, std::ios::end);
    file.write(reinterpret_cast<const char*>(&kNan), 4);
  }
  fs::last_write_time(path, time);
  EXPECT_THAT(ValidateOnce(folder(), state_dir()),
              InvalidArgument("row 3, column 1"));
}

TEST_F(DatasetTest, AMarkInTheDatasetIsNotBelieved) {
  Write();
  FGNN_ASSERT_OK_AND_ASSIGN(const ValidatedFolder sound,
                            ValidateOnce(folder(), state_dir()));
  content_.features[0] = kNan;
  Write();
  fs::create_directory(folder() / "derived");
  std::ofstream(folder() / "derived" / "validated")
      << absl::StrCat(absl::Hex(FingerprintOf(folder()), absl::kZeroPad16), " ",
                      absl::Hex(sound.content, absl::kZeroPad16), "\n");
  EXPECT_THAT(ValidateOnce(folder(), state_dir()), InvalidArgument());
  EXPECT_THAT(ValidateOnce(folder(), /*state_dir=*/{}), InvalidArgument());
}

TEST_F(DatasetTest, ReadsTheSameSizesFromHeadersAlone) {
  Write();
  FGNN_ASSERT_OK_AND_ASSIGN(const Dataset dataset,
                            Dataset::Open(folder(), Validation::kEverything));
  FGNN_ASSERT_OK_AND_ASSIGN(const DatasetSizes read,
                            Dataset::ReadSizes(folder()));
  for (const DatasetSizes& sizes : {read, dataset.sizes()}) {
    EXPECT_EQ(sizes.num_nodes, 4U);
    EXPECT_EQ(sizes.num_edges, 6U);
    EXPECT_EQ(sizes.num_classes, 3U);
    EXPECT_TRUE(sizes.has_labels);
    EXPECT_FALSE(sizes.has_train_edges);
    EXPECT_EQ(sizes.topology_bytes, 5 * 8 + 6 * 4U);
    EXPECT_EQ(sizes.feature_columns, 2U);
    EXPECT_EQ(sizes.feature_row_bytes, 8U);
    EXPECT_EQ(sizes.vertices.train, 2U);
    EXPECT_EQ(sizes.vertices.valid, 1U);
    EXPECT_EQ(sizes.vertices.test, 0U);
    EXPECT_EQ(sizes.edges.train, 6U);
    EXPECT_EQ(sizes.edges.valid, 0U);
  }
}

// As Open() does; the open of a FIFO would wait for its writer.
TEST_F(DatasetTest, SizesOfADamagedFolderAreRefused) {
  for (const char* file : {"metadata.yaml", "csc_indptr.npy", "features.npy",
                           "train.npy", "names.txt"}) {
    Write();
    fs::remove(folder() / file);
    ASSERT_EQ(::mkfifo((folder() / file).c_str(), 0600), 0);
    EXPECT_THAT(Dataset::ReadSizes(folder()),
                InvalidArgument(file, "not a plain file"));
    fs::remove(folder() / file);
  }
  Write();
  fs::resize_file(folder() / "features.npy",
                  fs::file_size(folder() / "features.npy") - 1);
  EXPECT_THAT(Dataset::ReadSizes(folder()), DataLoss("it is truncated"));
}

TEST_F(DatasetTest, TheContentFingerprintIsOfValuesAlone) {
  const auto content = [this] {
    Write();
    // Times of files are coarser than this test is fast.
    fs::remove_all(state_dir() / "derived");
    return ValidateOnce(folder(), state_dir())->content;
  };
  const uint64_t before = content();
  EXPECT_NE(before, 0U);
  EXPECT_EQ(content(), before);  // Written again.
  EXPECT_EQ(ValidateOnce(folder(), state_dir())->content,
            before);  // Remembered.
  content_.metadata.name = "another name";
  EXPECT_EQ(content(), before);
  content_.labels = {0, 2, -1, 2};
  const uint64_t labels = content();
  EXPECT_NE(labels, before);
  content_.features[7] = 8;
  EXPECT_NE(content(), labels);
  content_.metadata.num_classes = 4;
  EXPECT_NE(content(), labels);
}

TEST_F(DatasetTest, ValidationEndsOnceItIsToldTo) {
  Write();
  int asked = 0;
  const auto check = [&asked]() -> absl::Status {
    return ++asked < 3 ? absl::OkStatus() : absl::CancelledError("enough");
  };
  EXPECT_THAT(ValidateOnce(folder(), state_dir(), check),
              StatusIs(absl::StatusCode::kCancelled, "enough"));
  EXPECT_EQ(NumMarks(), 0);
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
