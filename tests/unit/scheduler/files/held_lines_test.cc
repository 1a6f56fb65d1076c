#include "scheduler/files/held_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "shared/base/files/file.h"
#include "shared/base/files/guarded_path.h"
#include "tests/fakes/full_disk.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

class HeldLinesTest : public testing::Test {
 protected:
  absl::Status Write() { return lines_.Write(folder_); }
  std::string Text() const { return ReadSmallFile(temp_ / "lines").value(); }

  const TempFolder temp_;
  const HeldFolder folder_ = HeldFolder::Open(temp_.path()).value();
  HeldLines lines_{"lines"};
};

TEST_F(HeldLinesTest, WhatAFullDiskTookOfALineGoesAndIsWrittenOnce) {
  lines_.Add("one\n");
  FGNN_ASSERT_OK(Write());
  {
    const FullDisk full(10);
    lines_.Add("two\nthree\n");  // Six bytes of ten fit.
    EXPECT_FALSE(Write().ok());
    EXPECT_EQ(Text(), "one\n");
    EXPECT_EQ(lines_.held_bytes(), 10U);
    lines_.Add("four\n");
    EXPECT_FALSE(Write().ok());
  }
  FGNN_ASSERT_OK(Write());
  EXPECT_EQ(Text(), "one\ntwo\nthree\nfour\n");
  EXPECT_EQ(lines_.held_bytes(), 0U);
  FGNN_ASSERT_OK(Write());
  lines_.Add("five\n");
  FGNN_ASSERT_OK(Write());
  EXPECT_EQ(Text(), "one\ntwo\nthree\nfour\nfive\n");
}

TEST_F(HeldLinesTest, APartThatCouldNotBeCutIsWrittenOver) {
  {
    const FullDisk full(2);
    lines_.Add("one\n");
    EXPECT_FALSE(Write().ok());
  }
  std::ofstream(temp_ / "lines") << "on";  // As if the cut had failed.
  FGNN_ASSERT_OK(Write());
  EXPECT_EQ(Text(), "one\n");
}

TEST_F(HeldLinesTest, NothingMakesNoFile) {
  FGNN_ASSERT_OK(Write());
  EXPECT_FALSE(fs::exists(temp_ / "lines"));
}

// A user may rename the folder, and put a link in its place.
TEST_F(HeldLinesTest, TheyAreInTheFolderWhateverItsName) {
  fs::create_directory(temp_ / "run");
  fs::create_directory(temp_ / "other");
  FGNN_ASSERT_OK_AND_ASSIGN(const HeldFolder run,
                            HeldFolder::Open(temp_ / "run"));
  fs::rename(temp_ / "run", temp_ / "moved");
  fs::create_directory_symlink(temp_ / "other", temp_ / "run");
  lines_.Add("one\n");
  FGNN_ASSERT_OK(lines_.Write(run));
  EXPECT_TRUE(fs::is_empty(temp_ / "other"));
  EXPECT_EQ(ReadSmallFile(temp_ / "moved/lines").value(), "one\n");
  fs::remove(temp_ / "moved/lines");
  fs::create_directory(temp_ / "moved/lines");
  lines_.Add("two\n");
  EXPECT_THAT(lines_.Write(run).message(),
              testing::HasSubstr((temp_ / "run/lines").string()));
}

}  // namespace
}  // namespace fgnn
