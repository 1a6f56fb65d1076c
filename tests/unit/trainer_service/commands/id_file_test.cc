#include "trainer_service/commands/id_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

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
  absl::StatusOr<std::vector<GlobalId>> ReadText(const std::string& text,
                                                 size_t columns) {
    const std::filesystem::path path = folder_ / "ids.txt";
    std::ofstream(path, std::ios::binary) << text;
    return ReadIdFile(path, columns, kVertices);
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
    return ReadIdFile(path, columns, kVertices);
  }

  const TempFolder folder_;
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
  EXPECT_THAT(ReadIdFile(folder_ / "gone.txt", 1, kVertices),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("gone.txt")));
}

}  // namespace
}  // namespace fgnn
