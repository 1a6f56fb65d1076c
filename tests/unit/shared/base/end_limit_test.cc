#include "shared/base/threads/end_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "absl/status/status.h"
#include "shared/base/clock.h"
#include "shared/base/files/descriptor_limit.h"
#include "shared/base/threads/notification.h"

namespace fgnn {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Runs `body` in a child; returns the exit code of the child.
template <typename Body>
int ExitCodeOf(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

TEST(EndLimitTest, EndsAProcessWhoseEndHangs) {
  EXPECT_EQ(ExitCodeOf([] {
              const EndLimit limit(milliseconds(1), [] {});
              const Notification never;
              never.WaitUntil(DeadlineIn(seconds(100)));
            }),
            1);
}

TEST(EndLimitTest, LetsAnEndInTimeBe) {
  bool was_late = false;
  {
    const EndLimit limit(seconds(100), [&] { was_late = true; });
  }
  EXPECT_FALSE(was_late);
}

TEST(DescriptorLimitTest, IsRaisedToWhatIsAllowed) {
  EXPECT_EQ(ExitCodeOf([] {
              rlimit limit = {};
              ::getrlimit(RLIMIT_NOFILE, &limit);
              const rlim_t most = limit.rlim_max;
              limit.rlim_cur = 64;
              ::setrlimit(RLIMIT_NOFILE, &limit);
              const uint64_t said = RaiseDescriptorLimit();
              ::getrlimit(RLIMIT_NOFILE, &limit);
              ::_exit(said == most && limit.rlim_cur == most ? 0 : 1);
            }),
            0);
}

TEST(DescriptorLimitTest, NamesNeedHaveAndTheWayOut) {
  EXPECT_EQ(ExitCodeOf([] {
              rlimit limit = {};
              ::getrlimit(RLIMIT_NOFILE, &limit);
              limit.rlim_cur = 64;
              ::setrlimit(RLIMIT_NOFILE, &limit);
              const absl::Status refused = CheckDescriptorLimit("it", 64);
              const std::string said(refused.message());
              ::_exit(CheckDescriptorLimit("it", 20).ok() &&
                              absl::IsResourceExhausted(refused) &&
                              said.find("it needs ") == 0 &&
                              said.find("may have 64; raise the limit with "
                                        "'ulimit -n 1024'") != std::string::npos
                          ? 0
                          : 1);
            }),
            0);
}

}  // namespace
}  // namespace fgnn
