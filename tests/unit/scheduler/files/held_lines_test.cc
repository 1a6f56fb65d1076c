#include "scheduler/files/held_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "shared/base/files/file.h"
#include "tests/fakes/full_disk.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

TEST(HeldLinesTest, WhatAFullDiskTookOfALineGoesAndIsWrittenOnce) {
  const TempFolder temp;
  HeldLines lines(temp / "lines");
  lines.Add("one\n");
  FGNN_ASSERT_OK(lines.Write());
  {
    const FullDisk full(10);
    lines.Add("two\nthree\n");  // Six bytes of ten fit.
    EXPECT_FALSE(lines.Write().ok());
    EXPECT_EQ(ReadSmallFile(temp / "lines").value(), "one\n");
    EXPECT_EQ(lines.held_bytes(), 10U);
    lines.Add("four\n");
    EXPECT_FALSE(lines.Write().ok());
  }
  FGNN_ASSERT_OK(lines.Write());
  EXPECT_EQ(ReadSmallFile(temp / "lines").value(), "one\ntwo\nthree\nfour\n");
  EXPECT_EQ(lines.held_bytes(), 0U);
  FGNN_ASSERT_OK(lines.Write());
  lines.Add("five\n");
  FGNN_ASSERT_OK(lines.Write());
  EXPECT_EQ(ReadSmallFile(temp / "lines").value(),
            "one\ntwo\nthree\nfour\nfive\n");
}

TEST(HeldLinesTest, APartThatCouldNotBeCutIsWrittenOver) {
  const TempFolder temp;
  HeldLines lines(temp / "lines");
  {
    const FullDisk full(2);
    lines.Add("one\n");
    EXPECT_FALSE(lines.Write().ok());
  }
  std::ofstream(temp / "lines") << "on";  // As if the cut had failed.
  FGNN_ASSERT_OK(lines.Write());
  EXPECT_EQ(ReadSmallFile(temp / "lines").value(), "one\n");
}

TEST(HeldLinesTest, NothingMakesNoFile) {
  const TempFolder temp;
  HeldLines lines(temp / "lines");
  FGNN_ASSERT_OK(lines.Write());
  EXPECT_FALSE(std::filesystem::exists(temp / "lines"));
}

}  // namespace
}  // namespace fgnn
