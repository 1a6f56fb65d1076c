#include "shared/base/files/plain_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

class PlainFileTest : public testing::Test {
 protected:
  PlainFileTest() { std::ofstream(path_) << "0123456789"; }

  TempFolder folder_;
  std::filesystem::path path_ = folder_ / "file";
  std::string bytes_ = std::string(4, ' ');
  absl::Span<std::byte> out_ = {reinterpret_cast<std::byte*>(bytes_.data()),
                                bytes_.size()};
};

TEST_F(PlainFileTest, ReadsPieces) {
  FGNN_ASSERT_OK_AND_ASSIGN(const PlainFile file, PlainFile::Open(path_));
  EXPECT_EQ(file.size(), 10U);
  FGNN_ASSERT_OK(file.Read(3, out_));
  EXPECT_EQ(bytes_, "3456");
  FGNN_ASSERT_OK(file.Read(10, {}));
}

TEST_F(PlainFileTest, AFileThatShrinksIsAnError) {
  FGNN_ASSERT_OK_AND_ASSIGN(const PlainFile file, PlainFile::Open(path_));
  std::filesystem::resize_file(path_, 5);
  EXPECT_THAT(file.Read(3, out_),
              DataLoss(path_.string(), "at byte 5: the file ends there"));
}

// The kernel answers EIO for memory that nobody has mapped, as for a disk that
// fails.
TEST_F(PlainFileTest, AnErrorOfTheDeviceIsDataLoss) {
  FGNN_ASSERT_OK_AND_ASSIGN(const PlainFile file,
                            PlainFile::Open("/proc/self/mem"));
  EXPECT_THAT(file.Read(0, out_),
              DataLoss("read /proc/self/mem at byte 0", "Input/output error"));
}

TEST_F(PlainFileTest, OtherFilesAreRefusedAtOnce) {
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  for (const std::filesystem::path& path :
       {folder_ / "fifo", folder_.path(), std::filesystem::path("/dev/zero")}) {
    EXPECT_THAT(PlainFile::Open(path),
                InvalidArgument(path.string(), "not a plain file"));
  }
  EXPECT_THAT(PlainFile::Open(folder_ / "missing"), NotFound("missing"));
}

}  // namespace
}  // namespace fgnn
