// A forked process that a test kills where it wants.
#ifndef FGNN_TESTS_FAULT_CHILD_PROCESS_H_
#define FGNN_TESTS_FAULT_CHILD_PROCESS_H_

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <utility>

#include "shared/base/files/unique_fd.h"

namespace fgnn {

// How a child tells its parent how far it is: a byte per call.
class Report {
 public:
  explicit Report(int fd) : fd_(fd) {}
  void operator()() const {
    const char byte = 1;
    if (::write(fd_, &byte, 1) != 1) ::_exit(3);
  }

 private:
  int fd_;
};

// The reading end that any number of children may share.
class Reports {
 public:
  Reports() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    read_end_.Reset(ends[0]);
    write_end_.Reset(ends[1]);
  }
  Report report() const { return Report(write_end_.get()); }
  // Takes `count` bytes. False if one does not come within a minute.
  bool Await(uint64_t count) {
    for (; count > 0; --count) {
      pollfd readable = {.fd = read_end_.get(), .events = POLLIN, .revents = 0};
      char byte = 0;
      if (::poll(&readable, 1, /*timeout ms=*/60'000) != 1 ||
          ::read(read_end_.get(), &byte, 1) != 1) {
        return false;
      }
    }
    return true;
  }

 private:
  UniqueFd read_end_, write_end_;
};

// Killed and waited for when it goes out of scope.
class Child {
 public:
  // Runs body() in a fork, which then ends with exit code 0.
  template <typename Body>
  static Child Start(const Body& body) {
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0) {
      // No child outlives a test that dies.
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(2);
      body();
      ::_exit(0);
    }
    EXPECT_GT(pid, 0);
    return Child(pid);
  }
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&& other) noexcept {
    Kill();
    pid_ = std::exchange(other.pid_, -1);
    return *this;
  }
  ~Child() { Kill(); }

  pid_t pid() const { return pid_; }
  // Returns once the kernel has said that it is dead.
  void Kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  // Of a child that is about to end by itself: its status, as of waitpid().
  int Join() {
    int status = -1;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return status;
  }

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  pid_t pid_ = -1;
};

// For a child that has reached the state in which it is to be killed.
[[noreturn]] inline void WaitToBeKilled() {
  for (;;) ::pause();
}

}  // namespace fgnn

#endif  // FGNN_TESTS_FAULT_CHILD_PROCESS_H_
