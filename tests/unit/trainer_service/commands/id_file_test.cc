#include "trainer_service/commands/id_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/graph/dataset.h"
#include "shared/graph/metadata.h"
#include "shared/graph/npy.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kVertices = 100;

class IdFileTest : public testing::Test {
 protected:
  IdFileTest() { MakeDataset({}, ""); }

  // Makes a dataset of kVertices vertices without edges.
  void MakeDataset(const std::vector<std::string>& kinds,
                   const std::string& names) {
    const std::filesystem::path data = folder_ / "data";
    std::filesystem::create_directories(data);
    DatasetMetadata metadata;
    metadata.num_nodes = kVertices;
    metadata.kinds = kinds;
    std::ofstream(data / "metadata.yaml") << FormatMetadata(metadata);
    if (!names.empty()) std::ofstream(data / "names.txt") << names;
    const auto write = [&](const char* name, NpyType type, size_t bytes) {
      const std::vector<char> zeros(bytes);
      absl::StatusOr<NpyWriter> writer =
          NpyWriter::Create(data / name, type, {});
      ASSERT_THAT(writer, IsOk());
      FGNN_ASSERT_OK(writer->Append(zeros.data(), zeros.size()));
      FGNN_ASSERT_OK(writer->Close());
    };
    write("csc_indptr.npy", NpyType::kI64, (kVertices + 1) * sizeof(int64_t));
    write("indices.npy", NpyType::kU32, 0);
    dataset_ = Dataset::Open(data, Validation::kShapes).value();
  }
  // The same, with users 0 to 89 and movies 85 to 93.
  void MakeDatasetOfTwoKinds() {
    std::string names;
    for (int i = 0; i < 90; ++i) absl::StrAppend(&names, "user:", i, "\n");
    for (int i = 85; i < 94; ++i) absl::StrAppend(&names, "movie:", i, "\n");
    names += "movie:the \"end\", 2\n";
    MakeDataset({"user", "movie"}, names);
  }

  absl::StatusOr<std::vector<GlobalId>> ReadText(const std::string& text,
                                                 size_t columns) {
    const std::filesystem::path path = folder_ / "ids.txt";
    std::ofstream(path, std::ios::binary) << text;
    return ReadIdFile(path, columns, *dataset_);
  }

  template <typename T>
  absl::StatusOr<std::vector<GlobalId>> ReadArray(
      NpyType type, const std::vector<uint64_t>& row_shape,
      const std::vector<T>& values, size_t columns) {
    const std::filesystem::path path = folder_ / "ids.npy";
    absl::StatusOr<NpyWriter> writer = NpyWriter::Create(path, type, row_shape);
    EXPECT_THAT(writer->Append(values.data(), values.size() * sizeof(T)),
                IsOk());
    EXPECT_THAT(writer->Close(), IsOk());
    return ReadIdFile(path, columns, *dataset_);
  }

  const TempFolder folder_;
  std::optional<Dataset> dataset_;
};

TEST_F(IdFileTest, ReadsLinesInTheirOrder) {
  EXPECT_THAT(*ReadText("9\n\n0\r\n 99 \n9", 1), ElementsAre(9, 0, 99, 9));
  EXPECT_THAT(*ReadText("1 2\n3,4\n5\t, 6\n", 2),
              ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(IdFileTest, RefusesABadLineByItsNumber) {
  for (const std::string bad :
       {"100", "-1", "x", "1.0", "1e1", "5 6", "99999999999999999999", "7x"}) {
    EXPECT_THAT(ReadText("3\n\n" + bad + "\n4\n", 1),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("ids.txt: line 3 is '" + bad + "'"),
                               HasSubstr("id of a vertex, in [0, 100)"))))
        << bad;
  }
  for (const std::string bad : {"1", "1 2 3", "1 100", "a b"}) {
    EXPECT_THAT(ReadText("3 4\n" + bad, 2),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("line 2 is '" + bad + "'"),
                               HasSubstr("two ids of vertices"))));
  }
}

TEST_F(IdFileTest, ReadsArraysOfIntegers) {
  EXPECT_THAT(*ReadArray<int64_t>(NpyType::kI64, {}, {5, 0, 99}, 1),
              ElementsAre(5, 0, 99));
  EXPECT_THAT(*ReadArray<uint8_t>(NpyType::kU8, {1}, {5, 0, 99}, 1),
              ElementsAre(5, 0, 99));
  EXPECT_THAT(*ReadArray<uint32_t>(NpyType::kU32, {2}, {1, 2, 3, 4}, 2),
              ElementsAre(1, 2, 3, 4));
}

TEST_F(IdFileTest, RefusesOtherArrays) {
  EXPECT_THAT(ReadArray<int32_t>(NpyType::kI32, {2}, {1, 2, 3, -4}, 2),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("ids.npy: row 1 has -4")));
  EXPECT_THAT(
      ReadArray<int64_t>(NpyType::kI64, {}, {1, 100}, 1),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("row 1 has 100")));
  EXPECT_THAT(ReadArray<int64_t>(NpyType::kI64, {2}, {1, 2}, 1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("another shape than [n]")));
  EXPECT_THAT(ReadArray<int64_t>(NpyType::kI64, {}, {1, 2}, 2),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("another shape than [n, 2]")));
  EXPECT_THAT(ReadArray<float>(NpyType::kF32, {}, {1, 2}, 1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("holds <f4, but ids are integers")));
}

TEST_F(IdFileTest, RefusesAFileWithoutIds) {
  EXPECT_THAT(ReadText(" \n\n", 1), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("ids.txt: has no ids")));
  EXPECT_THAT(ReadIdFile(folder_ / "gone.txt", 1, *dataset_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("gone.txt")));
}

TEST_F(IdFileTest, NamesOfAGraphOfOneKindAreNoIds) {
  MakeDataset({}, "user:0\n" + std::string(kVertices - 1, '\n'));
  EXPECT_THAT(*ReadText("5\n0\n", 1), ElementsAre(5, 0));
  EXPECT_THAT(ReadText("user:0\n", 1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("each line has the id of a vertex")));
}

TEST_F(IdFileTest, ReadsNamesIfVerticesAreOfSeveralKinds) {
  MakeDatasetOfTwoKinds();
  EXPECT_THAT(*ReadText("movie:85\n\n user:85\r\n3\n93\nuser:0,", 1),
              ElementsAre(90, 85, 3, 98, 0));
  EXPECT_THAT(*ReadText("user:1 movie:86\n2,92\n\"3\"\t\"movie:87\"\n", 2),
              ElementsAre(1, 91, 2, 97, 3, 92));
  EXPECT_THAT(*ReadText("5,\"movie:the \"\"end\"\", 2\"\n", 2),
              ElementsAre(5, 99));
}

TEST_F(IdFileTest, RefusesALineThatNamesNoVertexOrSeveral) {
  MakeDatasetOfTwoKinds();
  const auto refused = [](const std::string& line, const std::string& why) {
    return StatusIs(absl::StatusCode::kInvalidArgument,
                    AllOf(HasSubstr("ids.txt: line 2 is '" + line + "', but "),
                          HasSubstr(why)));
  };
  EXPECT_THAT(
      ReadText("3\n85\n", 1),
      refused("85", "'85' may be user:85 or movie:85; write the whole"));
  EXPECT_THAT(ReadText("3 4\n3 89\n", 2),
              refused("3 89", "'89' may be user:89 or movie:89"));
  EXPECT_THAT(ReadText("3\nmovie:3\n", 1),
              refused("movie:3", "'movie:3' is no vertex; write a name of"));
  for (const std::string bad :
       {"movie:the end", "3 4", "\"3", "\"3\"4", "3 \"4\""}) {
    EXPECT_THAT(
        ReadText("3\n" + bad + "\n", 1),
        refused(bad, "each line has the name of a vertex; put double quotes"))
        << bad;
  }
  EXPECT_THAT(ReadText("3 4\n3\n", 2),
              refused("3", "each line has two names of vertices"));
  EXPECT_THAT(ReadText("\n", 1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("has no ids; each line has the name of a")));
}

TEST_F(IdFileTest, ArraysHaveRowsAlsoIfVerticesAreOfSeveralKinds) {
  MakeDatasetOfTwoKinds();
  EXPECT_THAT(*ReadArray<int64_t>(NpyType::kI64, {}, {85, 99}, 1),
              ElementsAre(85, 99));
}

}  // namespace
}  // namespace fgnn
