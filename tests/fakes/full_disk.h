// A disk that is full for a while.
#ifndef FGNN_TESTS_FAKES_FULL_DISK_H_
#define FGNN_TESTS_FAKES_FULL_DISK_H_

#include <sys/resource.h>

#include <csignal>

namespace fgnn {

// While it lives, files of this process grow no further than `bytes`, as on a
// full disk. A write writes the bytes that fit. One object at a time.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit full = {.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &full);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_ = {};
  void (*handler_)(int);
};

}  // namespace fgnn

#endif  // FGNN_TESTS_FAKES_FULL_DISK_H_
