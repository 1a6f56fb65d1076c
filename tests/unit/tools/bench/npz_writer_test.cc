#include "tools/bench/files/npz_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "shared/base/status.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tools/dataset/reading/array_stream.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string BytesOfFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(NpzWriterTest, WritesArraysThatAreReadBack) {
  const TempFolder folder;
  const std::vector<uint32_t> ids = {7, 0, UINT32_MAX};
  const std::vector<float> weights = {0.5f, -1.25f};
  FGNN_ASSERT_OK(WriteNpz(folder / "a.npz",
                          {MakeNpzArray("ids", ids), MakeNpzArray("w", weights),
                           MakeNpzArray("none", std::vector<uint32_t>())}));

  FGNN_ASSERT_OK_AND_ASSIGN(const NpzArchive archive,
                            NpzArchive::Open(folder / "a.npz"));
  EXPECT_THAT(archive.Names(), ElementsAre("ids", "w", "none"));
  FGNN_ASSERT_OK_AND_ASSIGN(ArrayStream ids_stream, archive.OpenArray("ids"));
  EXPECT_EQ(ids_stream.type(), NpyType::kU32);
  EXPECT_THAT(ids_stream.shape(), ElementsAre(3));
  std::vector<int64_t> read(3);
  FGNN_ASSERT_OK(ids_stream.Read(absl::MakeSpan(read)));
  EXPECT_THAT(read, ElementsAre(7, 0, int64_t{UINT32_MAX}));

  FGNN_ASSERT_OK_AND_ASSIGN(ArrayStream weights_stream, archive.OpenArray("w"));
  EXPECT_EQ(weights_stream.type(), NpyType::kF32);
  std::vector<float> read_weights(2);
  FGNN_ASSERT_OK(weights_stream.Read(absl::MakeSpan(read_weights)));
  EXPECT_EQ(read_weights, weights);

  FGNN_ASSERT_OK_AND_ASSIGN(const ArrayStream none, archive.OpenArray("none"));
  EXPECT_THAT(none.shape(), ElementsAre(0));
}

TEST(NpzWriterTest, ReplacesAFileAndGivesEqualBytesForEqualArrays) {
  const TempFolder folder;
  const std::vector<uint32_t> one = {1, 2, 3};
  const std::vector<uint32_t> other = {4};
  FGNN_ASSERT_OK(WriteNpz(folder / "a.npz", {MakeNpzArray("x", other)}));
  FGNN_ASSERT_OK(WriteNpz(folder / "a.npz", {MakeNpzArray("y", one)}));
  FGNN_ASSERT_OK(WriteNpz(folder / "b.npz", {MakeNpzArray("y", one)}));
  FGNN_ASSERT_OK_AND_ASSIGN(const NpzArchive archive,
                            NpzArchive::Open(folder / "a.npz"));
  EXPECT_THAT(archive.Names(), ElementsAre("y"));
  EXPECT_EQ(BytesOfFile(folder / "a.npz"), BytesOfFile(folder / "b.npz"));
}

TEST(NpzWriterTest, NamesAPathThatCannotBeWritten) {
  const TempFolder folder;
  const absl::Status status = WriteNpz(
      folder / "no" / "a.npz", {MakeNpzArray("x", std::vector<uint32_t>{1})});
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(MessageOf(status), HasSubstr((folder / "no" / "a.npz").string()));
}

}  // namespace
}  // namespace fgnn
