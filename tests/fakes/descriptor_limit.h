// A lower limit on the descriptors of this process, while the object lives.
#ifndef FGNN_TESTS_FAKES_DESCRIPTOR_LIMIT_H_
#define FGNN_TESTS_FAKES_DESCRIPTOR_LIMIT_H_

#include <sys/resource.h>
#include <unistd.h>

namespace fgnn {

// Whether a test may use up all descriptors. UndefinedBehaviorSanitizer checks
// objects through a pipe. Without descriptors it has no pipe, and reports every
// object as wrong.
inline constexpr bool kMayRunOutOfDescriptors =
#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
    false;
#else
    true;
#endif
#else
    true;
#endif

class DescriptorLimit {
 public:
  // No descriptor with this number or a higher one can be opened.
  explicit DescriptorLimit(rlim_t limit) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit lower = before_;
    lower.rlim_cur = limit;
    ::setrlimit(RLIMIT_NOFILE, &lower);
  }
  // No descriptor can be opened, unless one is closed.
  static DescriptorLimit NoneLeft() {
    // The kernel gives out the lowest free number.
    const int lowest_free = ::dup(STDERR_FILENO);
    ::close(lowest_free);
    return DescriptorLimit(static_cast<rlim_t>(lowest_free));
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_ = {};
};

}  // namespace fgnn

#endif  // FGNN_TESTS_FAKES_DESCRIPTOR_LIMIT_H_
