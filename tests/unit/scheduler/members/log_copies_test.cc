// The head's copies of logs, and what a member sends of its logs.
#include "scheduler/members/log_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "scheduler/run/hosts/log_tail.h"
#include "shared/base/files/file.h"
#include "shared/config/state_dir.h"
#include "shared/telemetry/bounded_log.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr char kSampler[] = "sampler.0";

// A head, and a member whose name is host1.
class LogCopiesTest : public testing::Test {
 protected:
  LogCopiesTest() { fs::create_directories(LogOf("x").parent_path()); }

  fs::path LogOf(const std::string& name) const {
    return LogPath(temp_ / "member", name);
  }
  void Say(const std::string& name, const std::string& text) const {
    std::ofstream(LogOf(name), std::ios::app) << text;
  }
  std::string CopyOf(const std::string& name) const {
    return ReadSmallFile(LogPath(HostFolder(temp_ / "head", "host1"), name))
        .value_or("none");
  }
  absl::StatusOr<uint64_t> Take(const LogPart& part) const {
    return copies_.Take("host1", part);
  }
  // Copies all. Returns the number of parts.
  int CopyAll(LogTail& tail) const {
    int parts = 0;
    for (auto part = tail.Next(); part.has_value(); part = tail.Next()) {
      const absl::StatusOr<uint64_t> taken = Take(*part);
      EXPECT_THAT(taken, IsOk());
      tail.NoteTaken(part->name, taken.value_or(0));
      ++parts;
    }
    return parts;
  }

  const TempFolder temp_;
  const LogCopies copies_{temp_ / "head"};
  LogTail tail_{temp_ / "member"};
};

TEST_F(LogCopiesTest, CopiesOfAllLogsFollow) {
  EXPECT_EQ(CopyAll(tail_), 0);
  Say(kSampler, "one\n");
  Say("trainer.0", "two\n");
  EXPECT_EQ(CopyAll(tail_), 2);
  Say(kSampler, "three\n");
  EXPECT_EQ(CopyAll(tail_), 1);
  EXPECT_EQ(CopyOf(kSampler), "one\nthree\n");
  EXPECT_EQ(CopyOf("trainer.0"), "two\n");
}

TEST_F(LogCopiesTest, ALargeLogComesInPartsAndLeavesRoomForOthers) {
  const std::string text(200'000, 'x');
  Say(kSampler, text);
  Say("trainer.0", "y");
  std::optional<LogPart> first = tail_.Next();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->name, kSampler);
  EXPECT_LT(first->bytes.size(), text.size());
  tail_.NoteTaken(kSampler, Take(*first).value());
  EXPECT_EQ(tail_.Next()->name, "trainer.0");
  EXPECT_GT(CopyAll(tail_), 2);
  EXPECT_EQ(CopyOf(kSampler), text);
}

TEST_F(LogCopiesTest, AReportMayBeLostOrComeTwice) {
  Say(kSampler, "one\n");
  const LogPart lost = *tail_.Next();
  const LogPart again = *tail_.Next();
  EXPECT_EQ(again.bytes, lost.bytes);
  tail_.NoteTaken(kSampler, Take(again).value());
  Say(kSampler, "two\n");
  const LogPart second = *tail_.Next();
  EXPECT_EQ(Take(second).value_or(0), 8U);
  EXPECT_EQ(Take(second).value_or(0), 8U);
  EXPECT_EQ(CopyOf(kSampler), "one\ntwo\n");
}

TEST_F(LogCopiesTest, ACopyThatIsGoneIsMadeAgain) {
  Say(kSampler, "one\n");
  CopyAll(tail_);
  fs::remove_all(temp_ / "head");
  Say(kSampler, "two\n");
  CopyAll(tail_);
  EXPECT_EQ(CopyOf(kSampler), "one\ntwo\n");
}

TEST_F(LogCopiesTest, AMemberThatStartsAgainOrRotatesBeginsAnew) {
  Say(kSampler, "one\n");
  CopyAll(tail_);
  LogTail started_again(temp_ / "member");
  EXPECT_EQ(CopyAll(started_again), 1);
  EXPECT_EQ(CopyOf(kSampler), "one\n");
  fs::rename(LogOf(kSampler), PredecessorOf(LogOf(kSampler)));
  Say(kSampler, "two, which is longer\n");
  CopyAll(started_again);
  EXPECT_EQ(CopyOf(kSampler), "two, which is longer\n");
}

TEST_F(LogCopiesTest, RefusesNamesThatLeadElsewhereAndAHugeCopy) {
  for (const char* name : {"../x", "a/b", "", ".", ".."}) {
    EXPECT_THAT(copies_.Take("host1", {.name = name, .bytes = "x"}).status(),
                StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(copies_.Take(name, {.name = kSampler, .bytes = "x"}).status(),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  FGNN_ASSERT_OK(Take({.name = kSampler, .bytes = "x"}).status());
  constexpr uint64_t kHuge = uint64_t{1} << 30;
  fs::resize_file(LogPath(HostFolder(temp_ / "head", "host1"), kSampler),
                  kHuge);
  EXPECT_THAT(Take({.name = kSampler, .offset = kHuge, .bytes = "x"}).status(),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace fgnn
