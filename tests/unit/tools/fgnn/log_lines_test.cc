#include "tools/fgnn/commands/log_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

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

// Lines of "NUMBER: TEXT" with "{ours}" and "{other}" for ids: the numbers of
// those that are selected.
std::string SelectedOf(const std::vector<std::string>& lines) {
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    text += absl::StrCat(
        "2026-01-01T00:00:01.000Z I a: ",
        absl::StrReplaceAll(lines[i], {{"{ours}", kOurs}, {"{other}", kOther}}),
        "\n  more of ", i, "\n");
  }
  std::istringstream log(text);
  std::string selected;
  for (const LogLine& line :
       SelectLogLines(log, {.from = "", .to = "", .job = kOurs})) {
    const size_t more = line.text.find("  more of ");
    if (more != std::string::npos) selected += line.text.substr(more + 10);
  }
  return selected;
}

TEST(LogLinesTest, LeavesOutLinesThatNameOtherJobsOnly) {
  EXPECT_EQ(SelectedOf({"job {ours}: starts", "job {other}: starts", "stops",
                        "job {other} gives way to job {ours}",
                        "a job 1234 of nobody's"}),
            "03");
}

TEST(LogLinesTest, ADaemonSpeaksOfTheJobThatItIsAttachedTo) {
  EXPECT_EQ(SelectedOf({"registered with scheduler generation 1",
                        "attached to job {other} as owner 1", "a warning",
                        "detached from job {other}", "between",
                        "attached to job {ours} as owner 2", "an error",
                        "detached from job {ours}", "after"}),
            "567");
}

TEST(LogLinesTest, ADaemonThatComesBackIsAttachedToNothing) {
  EXPECT_EQ(SelectedOf({"attached to job {other} as owner 1", "a warning",
                        "registered with scheduler generation 1", "an error"}),
            "");
}

TEST(LogLinesTest, TheSchedulerSpeaksOfTheJobWhoseDaemonItNames) {
  EXPECT_EQ(SelectedOf({"started sampler.0 on cpu:0, pid 7",
                        "attached sampler.0 to job {ours} as owner 1",
                        "attached trainer.0 to job {other} as owner 1",
                        "sampler.0 (pid 7) died of signal 9",
                        "gave back 2 slots of sampler.0 (pid 7)",
                        "sampler.01 (pid 6) died of signal 9",
                        "trainer.0 (pid 8) died of signal 9",
                        "attached sampler.0 to job {other} as owner 3",
                        "sampler.0 (pid 9) died of signal 9",
                        "attached sampler.0 to job {ours} as owner 4",
                        "job {ours}: failed: it was lost",
                        "sampler.0 (pid 9) has ended"}),
            "134910");
}

TEST(LogLinesTest, MergesFilesByTimeAndKeepsTheOrderOfEquals) {
  std::vector<LogLine> lines = {
      {"2", "b1"}, {"2", "b2"}, {"3", "c"}, {"1", "a"}, {"2", "b3"}};
  SortByTime(lines);
  EXPECT_THAT(TextsOf(lines), ElementsAre("a", "b1", "b2", "b3", "c"));
}

}  // namespace
}  // namespace fgnn
