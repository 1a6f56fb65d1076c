// A dataset folder of four vertices, for tests to damage.
#ifndef FGNN_TESTS_UNIT_SHARED_GRAPH_DATASET_FOLDER_H_
#define FGNN_TESTS_UNIT_SHARED_GRAPH_DATASET_FOLDER_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "shared/graph/dataset.h"
#include "shared/graph/metadata.h"
#include "shared/graph/npy.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename T>
void WriteArray(const std::filesystem::path& path, NpyType type,
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

  std::filesystem::path folder() const { return temp_.path(); }
  // The folder of a service.
  std::filesystem::path state_dir() const { return state_.path(); }
  // Returns the number of datasets that the service has found valid.
  int NumMarks() const {
    int marks = 0;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(state_dir())) {
      marks += entry.path().filename() == "validated" ? 1 : 0;
    }
    return marks;
  }

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

  // Expects that the folder is refused with one line that names the file, place
  // and reason.
  void ExpectRefused(const std::string& file, const std::string& place,
                     const std::string& reason) {
    EXPECT_THAT(
        OpenStatus(),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 testing::AllOf(
                     testing::HasSubstr((folder() / file).string() + ": "),
                     testing::HasSubstr(place), testing::HasSubstr(reason),
                     testing::HasSubstr("; "),
                     testing::Not(testing::HasSubstr("\n")))));
  }

  TempFolder temp_;
  const TempFolder state_;
  Content content_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SHARED_GRAPH_DATASET_FOLDER_H_
