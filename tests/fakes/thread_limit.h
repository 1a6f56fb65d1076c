// Makes this process unable to start another thread.
#ifndef FGNN_TESTS_FAKES_THREAD_LIMIT_H_
#define FGNN_TESTS_FAKES_THREAD_LIMIT_H_

#include <pthread.h>

#include <cstddef>

namespace fgnn {

// While this object lives, this process can start no thread: the stack of a new
// thread would be larger than any address space.
class NoFurtherThreads {
 public:
  NoFurtherThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t attributes;
    pthread_getattr_default_np(&attributes);
    pthread_attr_setstacksize(&attributes, size_t{1} << 60);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
  }
  ~NoFurtherThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  NoFurtherThreads(const NoFurtherThreads&) = delete;
  NoFurtherThreads& operator=(const NoFurtherThreads&) = delete;

 private:
  pthread_attr_t before_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_FAKES_THREAD_LIMIT_H_
