#include "tools/fgnn/log_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace fgnn {
namespace {

using testing::ElementsAre;

std::vector<std::string> TextsOf(const std::vector<LogLine>& lines) {
  std::vector<std::string> texts;
  for (const LogLine& line : lines) texts.push_back(line.text);
  return texts;
}

TEST(LogLinesTest, StampsMillisecondsAsTheLogDoes) {
  EXPECT_EQ(LogTime(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(LogTime(1700000000042), "2023-11-14T22:13:20.042Z");
}

TEST(LogLinesTest, SelectsByTimeAndKeepsLinesWithoutOneWithTheirNeighbour) {
  std::istringstream log(
      "2026-01-01T00:00:01.000Z I a: early\n"
      "continued\n"
      "2026-01-01T00:00:02.000Z E a: crash\n"
      "  at line 7\n"
      "2026-01-01T00:00:03.000Z I a: late\n");
  EXPECT_THAT(
      TextsOf(SelectLogLines(log, "2026-01-01T00:00:01.500Z",
                             "2026-01-01T00:00:02.500Z")),
      ElementsAre("2026-01-01T00:00:02.000Z E a: crash", "  at line 7"));
}

TEST(LogLinesTest, WithoutLimitsSelectsAll) {
  std::istringstream log("no time\n2026-01-01T00:00:01.000Z I a: x\n");
  EXPECT_EQ(SelectLogLines(log, "", "").size(), 2U);
}

TEST(LogLinesTest, MergesFilesByTimeAndKeepsTheOrderOfEquals) {
  std::vector<LogLine> lines = {
      {"2", "b1"}, {"2", "b2"}, {"3", "c"}, {"1", "a"}, {"2", "b3"}};
  SortByTime(lines);
  EXPECT_THAT(TextsOf(lines), ElementsAre("a", "b1", "b2", "b3", "c"));
}

}  // namespace
}  // namespace fgnn
