#include "shared/telemetry/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "shared/base/threads/thread.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::MatchesRegex;

constexpr char kStamp[] =
    "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3}Z ";

// A line without its time.
std::string MessageIn(const std::string& line) {
  return line.substr(std::min(line.find(' '), line.size() - 1) + 1);
}

TEST(LogTest, ALineHasTimeLevelNameAndMessage) {
  InitLog("sampler.0");
  testing::internal::CaptureStderr();
  LogInfo("attached to {} with {} slots", "job-7", 8);
  LogWarning("late");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              MatchesRegex(std::string(kStamp) +
                           "I sampler.0: attached to job-7 with 8 slots\n" +
                           kStamp + "W sampler.0: late\n"));
}

TEST(LogTest, ALineHasAFieldForTheJobThatItIsAbout) {
  InitLog("x");
  testing::internal::CaptureStderr();
  SetLogJob("job-1");
  LogInfo("of the process");
  {
    const LogJob outer("job-2");
    LogInfo("of the thread");
    {
      const LogJob inner("");
      LogInfo("of none");
    }
    LogInfo("of the thread again");
    Thread("other", [] { LogInfo("of another thread"); }).Join();
  }
  SetLogJob("");
  LogInfo("of none");
  const std::vector<std::string> lines = absl::StrSplit(
      testing::internal::GetCapturedStderr(), '\n', absl::SkipEmpty());
  std::vector<std::string> messages;
  for (const std::string& line : lines) messages.push_back(MessageIn(line));
  EXPECT_THAT(messages,
              ElementsAre("I job=job-1 x: of the process",
                          "I job=job-2 x: of the thread", "I x: of none",
                          "I job=job-2 x: of the thread again",
                          "I job=job-1 x: of another thread", "I x: of none"));
}

TEST(LogTest, AMessageIsOneLineAndBracesInItAreText) {
  InitLog("x");
  testing::internal::CaptureStderr();
  LogError("{}", "two\nlines {} %v");
  EXPECT_EQ(MessageIn(testing::internal::GetCapturedStderr()),
            "E x: two\\nlines {} %v\n");
}

// ESC, CR, and U+009B, which some terminals take for ESC and "[".
TEST(LogTest, ATerminalDoesNotObeyAMessage) {
  InitLog("x");
  testing::internal::CaptureStderr();
  LogWarning("job in {}",
             "/a\x1b[2J\rb\xc2\x9b"
             "c");
  EXPECT_EQ(MessageIn(testing::internal::GetCapturedStderr()),
            "W x: job in /a\\x1b[2J\\x0db\\xc2\\x9bc\n");
}

}  // namespace
}  // namespace fgnn
