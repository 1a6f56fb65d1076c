// The scheduler as a daemon sees it: answers HostService as the test says and
// records what it hears. Thread-safe.
#ifndef FGNN_TESTS_FAKES_FAKE_HOST_SERVICE_H_
#define FGNN_TESTS_FAKES_FAKE_HOST_SERVICE_H_

#include <functional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "fgnn/v1/host.grpc.pb.h"
#include "shared/rpc/server.h"

namespace fgnn {

class FakeHostService final : public v1::HostService::Service {
 public:
  explicit FakeHostService(uint64_t generation, uint32_t interval_ms = 10)
      : generation_(generation), interval_ms_(interval_ms) {}

  // What calls from now on are answered with; OK at first.
  void AnswerRegister(absl::Status status) {
    const absl::MutexLock lock(&mutex_);
    register_answer_ = std::move(status);
  }
  void AnswerHeartbeat(absl::Status status) {
    const absl::MutexLock lock(&mutex_);
    heartbeat_answer_ = std::move(status);
  }
  // Heartbeats from now on are not answered while `hang`.
  void Hang(bool hang) {
    const absl::MutexLock lock(&mutex_);
    hang_ = hang;
  }
  // A registered daemon is unknown from now on, until it registers again.
  void Forget() {
    const absl::MutexLock lock(&mutex_);
    known_ = false;
  }

  std::vector<v1::RegisterRequest> registrations() const {
    const absl::MutexLock lock(&mutex_);
    return registrations_;
  }
  std::vector<v1::HeartbeatRequest> heartbeats() const {
    const absl::MutexLock lock(&mutex_);
    return heartbeats_;
  }

  // These wait until what is wanted was heard; false after 30 s.
  bool WaitForRegistrations(size_t count) const {
    const absl::MutexLock lock(&mutex_);
    const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return registrations_.size() >= count;
    };
    return mutex_.AwaitWithTimeout(absl::Condition(&there), absl::Seconds(30));
  }
  bool WaitForHeartbeat(
      const std::function<bool(const v1::HeartbeatRequest&)>& is_wanted) const {
    const absl::MutexLock lock(&mutex_);
    const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !heartbeats_.empty() && is_wanted(heartbeats_.back());
    };
    return mutex_.AwaitWithTimeout(absl::Condition(&there), absl::Seconds(30));
  }

  grpc::Status Register(grpc::ServerContext* context,
                        const v1::RegisterRequest* request,
                        v1::RegisterResponse* response) override {
    return ServeCall(*context, [&] {
      const absl::MutexLock lock(&mutex_);
      registrations_.push_back(*request);
      response->set_scheduler_generation(generation_);
      response->set_heartbeat_interval_ms(interval_ms_);
      if (register_answer_.ok()) known_ = true;
      return register_answer_;
    });
  }

  grpc::Status Heartbeat(grpc::ServerContext* context,
                         const v1::HeartbeatRequest* request,
                         v1::HeartbeatResponse*) override {
    return ServeCall(*context, [&]() -> absl::Status {
      const absl::MutexLock lock(&mutex_);
      heartbeats_.push_back(*request);
      const auto answers = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return !hang_;
      };
      mutex_.AwaitWithTimeout(absl::Condition(&answers), absl::Seconds(60));
      if (!known_) return absl::NotFoundError("unknown daemon");
      return heartbeat_answer_;
    });
  }

 private:
  const uint64_t generation_;
  const uint32_t interval_ms_;
  mutable absl::Mutex mutex_;
  bool hang_ ABSL_GUARDED_BY(mutex_) = false;
  bool known_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status register_answer_ ABSL_GUARDED_BY(mutex_);
  absl::Status heartbeat_answer_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::RegisterRequest> registrations_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::HeartbeatRequest> heartbeats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_TESTS_FAKES_FAKE_HOST_SERVICE_H_
