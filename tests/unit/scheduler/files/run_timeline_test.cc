#include "scheduler/files/run_timeline.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "shared/base/clock.h"
#include "shared/base/files/file.h"
#include "shared/base/files/guarded_path.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using nlohmann::json;
using testing::ElementsAre;

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class RunTimelineTest : public testing::Test {
 protected:
  // The job began 100 s ago.
  RunTimelineTest() : started_ms_(NowMs() - 100'000) {}

  RunTimeline Open(uint64_t next_seq) {
    return RunTimeline::Open(folder_, started_ms_, BatchSeq(next_seq)).value();
  }
  // Sampled within `sampled` seconds that end at `end`, trained in the one
  // after.
  BatchRecord Record(uint64_t seq, double end, float sampled = 0.25F) const {
    const auto at = [this](double seconds) {
      return now_ns_ - 100'000'000'000 + static_cast<uint64_t>(seconds * 1e9);
    };
    BatchRecord record;
    record.seq_plus_one = seq + 1;
    record.sample = sampled / 2;
    record.id_map = sampled / 4;
    record.mark = sampled / 8;
    record.copy = sampled / 16;
    record.order = sampled / 16;
    record.train = 1;
    record.sampled_ns = at(end);
    record.trained_ns = at(end + 1);
    return record;
  }
  std::string Text() const {
    return ReadSmallFile(temp_ / kTimelineName).value();
  }
  json Events() const { return json::parse(Text()); }
  // Of the spans, in their order.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const json& event : Events()) {
      if (event["ph"] == "X") names.push_back(event["name"]);
    }
    return names;
  }

  TempFolder temp_;
  const HeldFolder folder_ = HeldFolder::Open(temp_.path()).value();
  const int64_t started_ms_;
  const uint64_t now_ns_ = MonotonicNanoseconds();
};

TEST_F(RunTimelineTest, ABatchOfAnotherHostStandsAtItsTimeByThisClock) {
  RunTimeline timeline = Open(0);
  timeline.Add(Record(0, 10), {.sampler = 3, .trainer = 3});
  // The other host started at another time.
  BatchRecord far = Record(1, 20);
  const double shift = 5'000;
  far.sampled_ns += static_cast<uint64_t>(shift * 1e9);
  far.trained_ns += static_cast<uint64_t>(shift * 1e9);
  const double here = static_cast<double>(NowMs()) * 1e-3 -
                      static_cast<double>(MonotonicNanoseconds()) * 1e-9;
  timeline.AddOf({.name = "host1", .index = 1, .clock_start = here - shift},
                 far);
  ASSERT_THAT(timeline.Close(folder_), IsOk());
  std::map<int, std::string> rows;
  for (const json& event : Events()) {
    if (event["name"] == "thread_name") {
      rows[event["tid"]] = event["args"]["name"];
    }
  }
  for (const json& event : Events()) {
    if (event["name"] != "train 1") continue;
    EXPECT_EQ(rows[event["tid"]], "host1/trainer");
    EXPECT_NEAR(event["ts"].get<double>(), 20e6, 1e6);
  }
  EXPECT_THAT(Names(),
              ElementsAre("sample 0", "train 0", "sample 1", "train 1"));
}

TEST_F(RunTimelineTest, HasWhatEachExecutorDidAndWhen) {
  RunTimeline timeline = Open(0);
  timeline.Add(Record(0, 10), {.sampler = 1, .trainer = 0});
  timeline.EndEpoch(0, BatchSeq(0));
  ASSERT_THAT(timeline.Close(folder_), IsOk());
  std::map<int, std::string> rows;
  std::map<std::string, json> spans;
  int marks = 0;
  for (const json& event : Events()) {
    if (event["name"] == "thread_name") {
      rows[event["tid"]] = event["args"]["name"];
    }
    if (event["ph"] == "X") spans[event["cat"]] = event;
    if (event["ph"] == "i") {
      ++marks;
      EXPECT_NEAR(event["ts"].get<double>(), 100e6, 60e6);
    }
  }
  EXPECT_EQ(marks, 1);
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(rows[spans["sample"]["tid"]], "sampler.1");
  EXPECT_EQ(rows[spans["train"]["tid"]], "trainer.0");
  // Both clocks were not read at once.
  constexpr double kBetweenClocks = 2e6;
  EXPECT_NEAR(spans["sample"]["ts"].get<double>(), 9.75e6, kBetweenClocks);
  EXPECT_NEAR(spans["sample"]["dur"].get<double>(), 0.25e6, 1);
  EXPECT_NEAR(
      spans["train"]["ts"].get<double>() - spans["sample"]["ts"].get<double>(),
      0.25e6, 1);
  EXPECT_NEAR(spans["train"]["dur"].get<double>(), 1e6, 1);
}

TEST_F(RunTimelineTest, ASpanOfAPartHasItsWaitsAndNoWritingOfTheBatchBefore) {
  RunTimeline timeline = Open(0);
  BatchRecord record = Record(0, 10);
  record.split = 5;
  record.shuffle = 0.5;
  timeline.Add(record, {.sampler = 1, .trainer = 0});
  ASSERT_THAT(timeline.Close(folder_), IsOk());
  std::map<std::string, double> durations;
  for (const json& event : Events()) {
    if (event["ph"] == "X") durations[event["cat"]] = event["dur"];
  }
  EXPECT_NEAR(durations["sample"], 0.25e6, 1);
  EXPECT_NEAR(durations["train"], 1.5e6, 1);
}

TEST_F(RunTimelineTest, ThreadsOfAnExecutorHaveRowsOfTheirOwn) {
  RunTimeline timeline = Open(0);
  timeline.Add(Record(0, 10, 5), {});
  timeline.Add(Record(1, 11, 5), {});
  timeline.Add(Record(2, 30, 5), {});
  ASSERT_THAT(timeline.Close(folder_), IsOk());
  std::map<int, std::string> rows;
  std::vector<std::string> sampled;
  for (const json& event : Events()) {
    if (event["name"] == "thread_name") {
      rows[event["tid"]] = event["args"]["name"];
    }
    if (event.value("cat", "") == "sample") {
      sampled.push_back(rows[event["tid"]]);
    }
  }
  EXPECT_THAT(sampled, ElementsAre("sampler.0", "sampler.0 (2)", "sampler.0"));
}

TEST_F(RunTimelineTest, GoesOnBehindTheBatchesThatStay) {
  {
    RunTimeline timeline = Open(0);
    for (const uint64_t seq : {0, 1, 2}) {
      timeline.Add(Record(seq, 10 + 2 * static_cast<double>(seq)), {});
    }
    ASSERT_THAT(timeline.Close(folder_), IsOk());
  }
  RunTimeline timeline = Open(2);
  timeline.Add(Record(2, 50), {});
  ASSERT_THAT(timeline.Write(folder_), IsOk());
  ASSERT_THAT(timeline.Close(folder_), IsOk());
  EXPECT_THAT(Names(), ElementsAre("sample 0", "train 0", "sample 1", "train 1",
                                   "sample 2", "train 2"));
}

// Whoever wrote it was killed on the way.
TEST_F(RunTimelineTest, ATornLineIsLeftOut) {
  {
    RunTimeline timeline = Open(0);
    timeline.Add(Record(0, 10), {});
    ASSERT_THAT(timeline.Write(folder_), IsOk());
    timeline.Add(Record(1, 12), {});
    ASSERT_THAT(timeline.Write(folder_), IsOk());
  }
  const std::string whole = Text();
  for (size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    std::ofstream(temp_ / kTimelineName) << whole.substr(0, bytes);
    RunTimeline timeline = Open(1);
    timeline.Add(Record(1, 12), {});
    ASSERT_THAT(timeline.Close(folder_), IsOk());
    const std::vector<std::string> names = Names();
    ASSERT_GE(names.size(), 2U) << bytes;
    EXPECT_EQ(names[names.size() - 2], "sample 1") << bytes;
    EXPECT_EQ(names[names.size() - 1], "train 1") << bytes;
    EXPECT_LE(names.size(), 4U) << bytes;
  }
}

TEST_F(RunTimelineTest, AFolderThatIsGoneIsNamed) {
  const HeldFolder gone = HeldFolder(
      temp_ / "gone", UniqueFd(::open(temp_.path().c_str(), O_PATH)));
  std::filesystem::remove(temp_.path());
  EXPECT_THAT(
      RunTimeline::Open(gone, started_ms_, BatchSeq(0)).status(),
      StatusIs(absl::StatusCode::kNotFound, testing::HasSubstr("gone/trace")));
}

TEST_F(RunTimelineTest, WhatIsNoPlainFileIsRefusedAtOnce) {
  ASSERT_EQ(::mkfifo((temp_ / kTimelineName).c_str(), 0600), 0);
  EXPECT_THAT(RunTimeline::Open(folder_, started_ms_, BatchSeq(0)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::HasSubstr("not a plain file")));
}

}  // namespace
}  // namespace fgnn
