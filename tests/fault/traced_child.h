// A child process that stops at each of its system calls. There the test may
// kill it or change the call's result.
#ifndef FGNN_TESTS_FAULT_TRACED_CHILD_H_
#define FGNN_TESTS_FAULT_TRACED_CHILD_H_

#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <functional>

#include "tests/fault/child_process.h"

namespace fgnn {

inline constexpr int kCannotTrace = 77;

// A stop of the child at one of its system calls.
struct CallStop {
  pid_t pid = 0;
  uint64_t index = 0;   // Index of the call, from 0.
  uint64_t number = 0;  // Number of the system call, such as SYS_write.
  bool entering = true;
};

// Runs `body`, whose result is the exit code, in a child. The child stops at
// entry and exit of every system call and calls on_stop(): true lets it run on,
// false kills it. Returns the child's wait status, or -1 if it was killed.
inline int RunTraced(const std::function<int()>& body,
                     const std::function<bool(const CallStop&)>& on_stop) {
  Child child = Child::Start([&body] {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) {
      ::_exit(kCannotTrace);
    }
    ::raise(SIGSTOP);
    ::_exit(body());
  });
  int status = 0;
  ::waitpid(child.pid(), &status, 0);
  if (!WIFSTOPPED(status)) return status;
  ::ptrace(PTRACE_SETOPTIONS, child.pid(), nullptr, PTRACE_O_TRACESYSGOOD);
  CallStop stop = {.pid = child.pid()};
  while (::ptrace(PTRACE_SYSCALL, child.pid(), nullptr, nullptr) == 0 &&
         ::waitpid(child.pid(), &status, 0) == child.pid() &&
         WIFSTOPPED(status)) {
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) continue;
    __ptrace_syscall_info call = {};
    ::ptrace(PTRACE_GET_SYSCALL_INFO, child.pid(), sizeof(call), &call);
    stop.entering = call.op == PTRACE_SYSCALL_INFO_ENTRY;
    if (stop.entering) stop.number = call.entry.nr;
    if (!on_stop(stop)) return -1;
    if (!stop.entering) ++stop.index;
  }
  return status;
}

inline bool CannotTrace(int status) {
  return WIFEXITED(status) && WEXITSTATUS(status) == kCannotTrace;
}

}  // namespace fgnn

#endif  // FGNN_TESTS_FAULT_TRACED_CHILD_H_
