#include "shared/telemetry/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace fgnn {
namespace {

using testing::MatchesRegex;

constexpr char kStamp[] =
    "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3}Z ";

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

TEST(LogTest, AMessageIsOneLineAndBracesInItAreText) {
  InitLog("x");
  testing::internal::CaptureStderr();
  LogError("{}", "two\nlines {} %v");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              MatchesRegex(std::string(kStamp) + "E x: two lines [{][}] %v\n"));
}

TEST(LogTest, LinesBelowTheLevelAreLeftOut) {
  InitLog("x");
  testing::internal::CaptureStderr();
  LogDebug("detail");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  SetLogLevel(LogLevel::kDebug);
  testing::internal::CaptureStderr();
  LogDebug("detail");
  EXPECT_NE(testing::internal::GetCapturedStderr(), "");
  SetLogLevel(LogLevel::kInfo);
}

}  // namespace
}  // namespace fgnn
