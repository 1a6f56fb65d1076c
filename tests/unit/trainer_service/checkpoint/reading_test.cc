// Files and disks that give no checkpoint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "trainer_service/checkpoint/checkpoint.h"
#include "trainer_service/checkpoint/safetensors.h"

namespace fgnn {
namespace {

using testing::ElementsAre;

class ReadingTest : public testing::Test {
 protected:
  TempFolder folder_;
  const std::filesystem::path path_ = folder_ / "epoch-0007.safetensors";
};

// What is no file of a run's own must not hold up or end a trainer.
TEST_F(ReadingTest, RefusesAllButPlainFilesAtOnce) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  for (const std::filesystem::path& path : {path_, folder_.path()}) {
    EXPECT_THAT(ReadCheckpoint(path), InvalidArgument("not a plain file"));
  }
}

// A mapping would end the program by SIGBUS, as it would where a disk fails.
TEST_F(ReadingTest, AFileThatShrinksOnceItWasCheckedIsAnError) {
  const std::vector<float> values = {1, 2, 3};
  FGNN_ASSERT_OK(WriteSafetensors(path_, {}, {{"a", {3}, values}}));
  FGNN_ASSERT_OK_AND_ASSIGN(const SafetensorsFile file,
                            SafetensorsFile::Open(path_));
  const StoredTensor& tensor = file.tensors().at(0);
  std::vector<float> read(tensor.num_values);
  FGNN_ASSERT_OK(file.Read(tensor, read.data()));
  EXPECT_THAT(read, ElementsAre(1, 2, 3));

  std::filesystem::resize_file(path_, 0);
  EXPECT_THAT(file.Read(tensor, read.data()), DataLoss("epoch-0007"));
}

// Longer than the pieces that the checksum is computed in.
TEST_F(ReadingTest, EveryPieceIsInTheChecksum) {
  std::vector<float> values(300'000, 0.5F);
  FGNN_ASSERT_OK(WriteSafetensors(path_, {}, {{"a", {300'000}, values}}));
  FGNN_ASSERT_OK(SafetensorsFile::Open(path_));
  const auto size = std::filesystem::file_size(path_);
  for (const auto back : {size - 200, size / 2, uintmax_t{4}}) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(size - back));
    file.put('\7');
    file.close();
    EXPECT_THAT(SafetensorsFile::Open(path_), DataLoss("crc32c"));
    FGNN_ASSERT_OK(WriteSafetensors(path_, {}, {{"a", {300'000}, values}}));
  }
}

TEST_F(ReadingTest, RefusesAHeaderThatIsTooLong) {
  uint64_t length = UINT64_MAX - 7;
  std::string bytes(reinterpret_cast<const char*>(&length), 8);
  bytes += std::string(4096, ' ');
  std::ofstream(path_, std::ios::binary) << bytes;
  EXPECT_THAT(SafetensorsFile::Open(path_), DataLoss());
}

}  // namespace
}  // namespace fgnn
