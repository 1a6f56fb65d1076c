#include "shared/telemetry/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

// A pid that names nobody: a child that was waited for.
pid_t DeadPid() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST(ProcessMemoryTest, SeesTouchedPages) {
  FGNN_ASSERT_OK_AND_ASSIGN(const ProcessMemory before,
                            ReadProcessMemory(::getpid()));
  constexpr size_t kBytes = 64 << 20;
  void* pages = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  std::memset(pages, 1, kBytes);
  FGNN_ASSERT_OK_AND_ASSIGN(const ProcessMemory after,
                            ReadProcessMemory(::getpid()));
  ::munmap(pages, kBytes);
  EXPECT_GE(after.resident_bytes, before.resident_bytes + kBytes * 9 / 10);
  EXPECT_GE(after.proportional_bytes,
            before.proportional_bytes + kBytes * 9 / 10);
  EXPECT_LE(after.proportional_bytes, after.resident_bytes);
  EXPECT_GE(after.anonymous_bytes, before.anonymous_bytes + kBytes * 9 / 10);
  EXPECT_LT(after.anonymous_bytes, after.resident_bytes);
}

TEST(ProcessStartTimeTest, IsConstantAndSurvivesAnOddName) {
  FGNN_ASSERT_OK_AND_ASSIGN(const uint64_t first,
                            ReadProcessStartTime(::getpid()));
  EXPECT_GT(first, 0U);
  // The name stands before the field, in parentheses of its own.
  char name[16] = {};
  ::prctl(PR_GET_NAME, name);
  ::prctl(PR_SET_NAME, "a) S 1 (b c");
  FGNN_ASSERT_OK_AND_ASSIGN(const uint64_t second,
                            ReadProcessStartTime(::getpid()));
  ::prctl(PR_SET_NAME, name);
  EXPECT_EQ(first, second);
}

TEST(ProcessTest, AProcessThatEndedIsNotFound) {
  const pid_t dead = DeadPid();
  EXPECT_THAT(ReadProcessMemory(dead), NotFound());
  EXPECT_THAT(ReadProcessStartTime(dead), NotFound());
}

}  // namespace
}  // namespace fgnn
