#include "shared/telemetry/bounded_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "shared/base/files/unique_fd.h"
#include "shared/telemetry/log.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string ContentOf(const fs::path& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file),
                     std::istreambuf_iterator<char>());
}

// stderr goes into a file, as that of a daemon does.
class BoundedLogTest : public testing::Test {
 protected:
  void SetUp() override {
    InitLog("sampler.0");
    const UniqueFd file(
        ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640));
    ASSERT_GE(::dup2(file.get(), STDERR_FILENO), 0);
  }
  ~BoundedLogTest() override { ::dup2(terminal_.get(), STDERR_FILENO); }

  static void Write(const std::string& text) {
    EXPECT_EQ(::write(STDERR_FILENO, text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }

  const UniqueFd terminal_ = Duplicate(STDERR_FILENO);
  TempFolder folder_;
  const fs::path path_ = folder_ / "sampler.0.log";
  const fs::path predecessor_ = folder_ / "sampler.0.log.1";
};

TEST_F(BoundedLogTest, KeepsTwoFilesAndLosesNoLine) {
  BoundedLog log(path_, 100);
  Write("first\n");
  log.RotateIfLarge();
  EXPECT_FALSE(fs::exists(predecessor_));
  const std::string long_line = absl::StrCat(std::string(100, 'x'), "\n");
  Write(long_line);
  log.RotateIfLarge();
  Write("second\n");
  EXPECT_EQ(ContentOf(predecessor_), absl::StrCat("first\n", long_line));
  EXPECT_THAT(ContentOf(path_), HasSubstr("what was before is in"));
  EXPECT_THAT(ContentOf(path_), HasSubstr("second\n"));
  Write(long_line);
  log.RotateIfLarge();
  EXPECT_THAT(ContentOf(predecessor_), HasSubstr("second\n"));
  EXPECT_THAT(ContentOf(predecessor_), HasSubstr(long_line));
  Write("third\n");
  EXPECT_THAT(ContentOf(path_), HasSubstr("third\n"));
}

// A user's redirection, or a journal: not ours to move.
TEST_F(BoundedLogTest, LeavesAloneWhatIsNotTheLog) {
  BoundedLog log(folder_ / "other.log", 10);
  std::ofstream(folder_ / "other.log") << "more than ten bytes of a log\n";
  Write("more than ten bytes of an error\n");
  log.RotateIfLarge();
  EXPECT_FALSE(fs::exists(folder_ / "other.log.1"));
  EXPECT_FALSE(fs::exists(predecessor_));
}

TEST_F(BoundedLogTest, GoesOnWhereNoNewFileCanBeMade) {
  BoundedLog log(path_, 10);
  Write("more than ten bytes\n");
  fs::create_directory(predecessor_);
  log.RotateIfLarge();
  log.RotateIfLarge();
  Write("the rest\n");
  const std::string text = ContentOf(path_);
  EXPECT_THAT(text, HasSubstr("cannot be rotated"));
  EXPECT_EQ(text.find("cannot be rotated"), text.rfind("cannot be rotated"));
  EXPECT_THAT(text, HasSubstr("the rest\n"));
}

}  // namespace
}  // namespace fgnn
