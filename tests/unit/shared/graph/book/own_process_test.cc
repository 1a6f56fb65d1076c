#include "shared/graph/book/making/own_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "shared/base/status.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

constexpr int kPatienceMs = 60'000;

absl::StatusOr<std::string> RunBody(
    absl::FunctionRef<absl::StatusOr<std::string>(StageCallback)> body,
    std::vector<std::string>* stages = nullptr) {
  return RunInOwnProcess(
      "METIS", "take another",
      [stages](std::string_view stage) {
        if (stages != nullptr) stages->push_back(std::string(stage));
        return absl::OkStatus();
      },
      body);
}

TEST(OwnProcessTest, PassesStagesAndAResultLongerThanAPipe) {
  const std::string long_result(1 << 20, '\0');
  std::vector<std::string> stages;
  const auto result = RunBody(
      [&](StageCallback tell) -> absl::StatusOr<std::string> {
        FGNN_RETURN_IF_ERROR(tell("first"));
        FGNN_RETURN_IF_ERROR(tell("second"));
        return long_result + std::to_string(::getpid() != 0);
      },
      &stages);
  FGNN_ASSERT_OK(result.status());
  EXPECT_EQ(*result, long_result + "1");
  EXPECT_EQ(stages.front(), "first");
  EXPECT_EQ(stages.back(), "second");
}

TEST(OwnProcessTest, RunsInAnotherProcess) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const std::string pid, RunBody([](StageCallback) {
        return absl::StatusOr<std::string>(std::to_string(::getpid()));
      }));
  EXPECT_NE(pid, std::to_string(::getpid()));
}

TEST(OwnProcessTest, ReturnsTheBodysError) {
  EXPECT_THAT(RunBody([](StageCallback) {
                return absl::StatusOr<std::string>(
                    absl::InvalidArgumentError("element 3 is bad"));
              }),
              StatusIs(absl::StatusCode::kInvalidArgument, "element 3 is bad"));
}

TEST(OwnProcessTest, SaysThatMemoryRanOut) {
  EXPECT_THAT(RunBody([](StageCallback) -> absl::StatusOr<std::string> {
                throw std::bad_alloc();
              }),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "METIS ran out of memory; take another"));
}

TEST(OwnProcessTest, SaysWhichSignalEndedIt) {
  EXPECT_THAT(RunBody([](StageCallback tell) -> absl::StatusOr<std::string> {
                FGNN_RETURN_IF_ERROR(tell("at work"));
                ::raise(SIGKILL);
                return "";
              }),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "METIS was ended by signal 9, Killed; take another"));
}

TEST(OwnProcessTest, EndsWithTheErrorOfAStage) {
  pid_t child = 0;
  const auto result = RunInOwnProcess(
      "METIS", "take another",
      [&](std::string_view stage) -> absl::Status {
        child = static_cast<pid_t>(std::stol(std::string(stage)));
        return absl::CancelledError("the caller has gone");
      },
      [](StageCallback tell) -> absl::StatusOr<std::string> {
        FGNN_RETURN_IF_ERROR(tell(std::to_string(::getpid())));
        while (true) ::pause();
      });
  EXPECT_THAT(result,
              StatusIs(absl::StatusCode::kCancelled, "the caller has gone"));
  ASSERT_GT(child, 0);
  EXPECT_EQ(::kill(child, 0), -1);  // It has been waited for.
}

// A daemon has threads, which allocate while it forks.
TEST(OwnProcessTest, TheBodyAllocatesWhileOtherThreadsDo) {
  std::atomic<bool> ends = false;
  std::thread other([&] {
    while (!ends) std::vector<char>(1 << 12).front() = 'x';
  });
  for (int round = 0; round < 50; ++round) {
    const auto result =
        RunBody([](StageCallback) -> absl::StatusOr<std::string> {
          std::vector<std::string> all;
          for (int i = 0; i < 100; ++i) all.emplace_back(1000, 'x');
          return all.back().substr(0, 3);
        });
    EXPECT_THAT(result.status(), IsOk());
    EXPECT_EQ(result.value_or(""), "xxx");
  }
  ends = true;
  other.join();
}

// Ctrl-C, or a kill, of the program that waits for it.
TEST(OwnProcessTest, DiesWithItsParent) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t parent = ::fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    ::close(ends[0]);
    (void)RunBody([&](StageCallback) -> absl::StatusOr<std::string> {
      (void)!::write(ends[1], "x", 1);
      while (true) ::pause();
    });
    ::_exit(0);
  }
  ::close(ends[1]);
  char byte = 0;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);
  ::kill(parent, SIGKILL);
  ASSERT_EQ(::waitpid(parent, nullptr, 0), parent);
  // The end of the pipe: nobody has its other end any more.
  pollfd event = {ends[0], POLLIN, 0};
  ASSERT_EQ(::poll(&event, 1, kPatienceMs), 1);
  EXPECT_EQ(::read(ends[0], &byte, 1), 0);
  ::close(ends[0]);
}

}  // namespace
}  // namespace fgnn
