#include "tools/fgnn/commands/log_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace fgnn {
namespace {

using testing::ElementsAre;

std::vector<std::string> TextsOf(const std::vector<LogLine>& lines) {
  std::vector<std::string> texts;
  for (const LogLine& line : lines) texts.push_back(line.text);
  return texts;
}

TEST(LogLinesTest, SelectsByTimeAndKeepsLinesWithoutOneWithTheirNeighbour) {
  std::istringstream log(
      "2026-01-01T00:00:01.000Z I a: early\n"
      "continued\n"
      "2026-01-01T00:00:02.000Z E a: crash\n"
      "  at line 7\n"
      "2026-01-01T00:00:03.000Z I a: late\n");
  EXPECT_THAT(
      TextsOf(SelectLogLines(log, {.from = "2026-01-01T00:00:01.500Z",
                                   .to = "2026-01-01T00:00:02.500Z",
                                   .job = ""})),
      ElementsAre("2026-01-01T00:00:02.000Z E a: crash", "  at line 7"));
}

TEST(LogLinesTest, WithoutLimitsSelectsAll) {
  std::istringstream log("no time\n2026-01-01T00:00:01.000Z I a: x\n");
  EXPECT_EQ(SelectLogLines(log, {}).size(), 2U);
}

constexpr char kOurs[] = "20260101-000000-00aa";
constexpr char kOther[] = "20260101-000000-00bb";

TEST(LogLinesTest, ALineIsAboutTheJobOfItsFieldAndAboutNoOther) {
  const std::string time = "2026-01-01T00:00:01.000Z";
  const std::string ours = absl::StrCat(time, " I job=", kOurs, " a: starts");
  const std::string json =
      absl::StrCat("{\"time\":\"", time, "\",\"process\":\"a\",\"job\":\"",
                   kOurs, "\",\"message\":\"starts\"}");
  std::istringstream log(absl::StrJoin(
      {ours, std::string("  more of it"),
       absl::StrCat(time, " I job=", kOther, " a: job ", kOurs),
       std::string("  more of the other"), json,
       absl::StrReplaceAll(json, {{kOurs, kOther}}),
       absl::StrReplaceAll(json, {{"process", "call"}}),  // Of the audit log.
       absl::StrCat(time, " W a: job=", kOurs), absl::StrCat(time, " I"),
       absl::StrCat("{\"job\":\"", kOurs, "\"}"), std::string("{no JSON")},
      "\n"));
  EXPECT_THAT(
      TextsOf(SelectLogLines(log, {.from = time, .to = time, .job = kOurs})),
      ElementsAre(ours, "  more of it", json));
}

TEST(LogLinesTest, MergesFilesByTimeAndKeepsTheOrderOfEquals) {
  std::vector<LogLine> lines = {
      {"2", "b1"}, {"2", "b2"}, {"3", "c"}, {"1", "a"}, {"2", "b3"}};
  SortByTime(lines);
  EXPECT_THAT(TextsOf(lines), ElementsAre("a", "b1", "b2", "b3", "c"));
}

}  // namespace
}  // namespace fgnn
