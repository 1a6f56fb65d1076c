// A forked process that a test kills at a place of its choice.
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

// Tells the parent how far the child is: each call writes a byte.
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

// The reading end of a pipe, for reports of any number of children.
class Reports {
 public:
  Reports() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    read_end_.Reset(ends[0]);
    write_end_.Reset(ends[1]);
  }
  Report report() const { return Report(write_end_.get()); }
  // Reads `count` bytes. Returns false if a byte does not come within a minute.
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

// A child process. The destructor kills it and waits for its end.
class Child {
 public:
  // Runs body() in a fork, which ends with exit code 0 afterwards.
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
  // Kills the child. Returns once the kernel has said that the child is dead.
  void Kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  // Waits for a child that ends by itself. Returns its status as waitpid()
  // does.
  int Join() {
    int status = -1;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return status;
  }

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  pid_t pid_ = -1;
};

// Waits for ever. A child calls it in the state in which the test kills it.
[[noreturn]] inline void WaitToBeKilled() {
  for (;;) ::pause();
}

}  // namespace fgnn

#endif  // FGNN_TESTS_FAULT_CHILD_PROCESS_H_
