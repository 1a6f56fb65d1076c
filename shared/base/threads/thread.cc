#include "shared/base/threads/thread.h"

#include <pthread.h>
#include <sched.h>

#include <utility>

#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"

namespace fgnn {

absl::StatusOr<Thread> Thread::Start(std::string name,
                                     std::function<void()> body) {
  Thread thread;
  FGNN_RETURN_IF_ERROR(CatchExceptions([&] {
    thread = Thread(std::move(name), std::move(body));
    return absl::OkStatus();
  }));
  return thread;
}

Thread::Thread(std::string name, std::function<void()> body)
    : thread_([name = std::move(name), body = std::move(body)] {
        // The kernel keeps 15 bytes and refuses longer names.
        pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
        body();
      }) {}

Thread& Thread::operator=(Thread&& other) {
  if (this != &other) {
    Join();
    thread_ = std::move(other.thread_);
  }
  return *this;
}

Thread::~Thread() { Join(); }

void Thread::Join() {
  if (thread_.joinable()) thread_.join();
}

void WaitForTurnsOnTheCore() {
  const sched_param parameters = {};
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &parameters);
}

}  // namespace fgnn
