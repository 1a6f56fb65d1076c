#include "shared/telemetry/json_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"

namespace fgnn {
namespace {

using testing::HasSubstr;

constexpr char kJob[] = "20260131-115900-7f3a";

nlohmann::json LineOf(std::string_view message, std::string_view job = "") {
  const std::chrono::system_clock::time_point time(
      std::chrono::milliseconds(1'769'860'800'007));
  return nlohmann::json::parse(
      JsonLogLine(time, "warning", "trainer.0", job, message));
}

TEST(JsonLogTest, StampsMillisecondsAsTheLogDoes) {
  EXPECT_EQ(LogTime(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(LogTime(1700000000042), "2023-11-14T22:13:20.042Z");
}

TEST(JsonLogTest, ALineHasTimeLevelProcessAndMessage) {
  EXPECT_EQ(LineOf("the scheduler is back"),
            nlohmann::json({{"time", "2026-01-31T12:00:00.007Z"},
                            {"level", "warning"},
                            {"process", "trainer.0"},
                            {"message", "the scheduler is back"}}));
}

TEST(JsonLogTest, ALineAboutABatchNamesJobAndBatch) {
  for (const char* message :
       {"job 20260131-115900-7f3a: batch 17 is damaged",
        "job 20260131-115900-7f3a: batch 17: no memory"}) {
    const nlohmann::json line = LineOf(message, kJob);
    EXPECT_EQ(line["job"], kJob);
    EXPECT_EQ(line["batch"], 17);
    EXPECT_EQ(line["message"], message);
  }
}

TEST(JsonLogTest, ALineAboutAJobNamesTheJobAndNoBatchOfAnother) {
  for (const char* message :
       {"job 20260131-115900-7f3a: epoch 3",
        "job 20260131-115900-7f3a was stopped",
        "job 20260131-115900-bbbb: batch 3", "detached"}) {
    const nlohmann::json line = LineOf(message, kJob);
    EXPECT_EQ(line["job"], kJob);
    EXPECT_FALSE(line.contains("batch"));
  }
}

TEST(JsonLogTest, AnyBytesMakeOneLineOfAscii) {
  const std::string line =
      JsonLogLine({}, "info", "x", "", "a\"b\nc\x1b[31m\xff\xc3\xa9");
  EXPECT_THAT(line, HasSubstr("a\\\"b\\nc\\u001b[31m\\ufffd\\u00e9"));
  for (const char byte : line) EXPECT_TRUE(byte >= ' ' && byte <= '~') << line;
}

}  // namespace
}  // namespace fgnn
