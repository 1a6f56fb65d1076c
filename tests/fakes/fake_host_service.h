// A fake scheduler for daemons. It answers HostService as the test says and
// records the calls. Thread-safe.
#ifndef FGNN_TESTS_FAKES_FAKE_HOST_SERVICE_H_
#define FGNN_TESTS_FAKES_FAKE_HOST_SERVICE_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "fgnn/v1/host.grpc.pb.h"
#include "shared/base/clock.h"
#include "shared/rpc/server.h"

namespace fgnn {

class FakeHostService final : public v1::HostService::Service {
 public:
  explicit FakeHostService(uint64_t generation, uint32_t interval_ms = 10)
      : generation_(generation), interval_ms_(interval_ms) {}

  // Sets the answer to registrations from now on; OK at first.
  void AnswerRegister(absl::Status status) {
    const std::lock_guard lock(mutex_);
    register_answer_ = std::move(status);
  }
  // Answers no heartbeats from now on while `hang` is true.
  void Hang(bool hang) {
    const std::lock_guard lock(mutex_);
    hang_ = hang;
    changed_.notify_all();
  }
  // Forgets the registered daemons: a daemon is unknown until it registers
  // again.
  void Forget() {
    const std::lock_guard lock(mutex_);
    known_ = false;
  }

  std::vector<v1::RegisterRequest> registrations() const {
    const std::lock_guard lock(mutex_);
    return registrations_;
  }
  std::vector<v1::HeartbeatRequest> heartbeats() const {
    const std::lock_guard lock(mutex_);
    return heartbeats_;
  }

  // These functions wait for the calls. They return false after 30 s.
  bool WaitForRegistrations(size_t count) const {
    return WaitUntil([&] { return registrations_.size() >= count; });
  }
  bool WaitForHeartbeat(
      const std::function<bool(const v1::HeartbeatRequest&)>& is_wanted) const {
    return WaitUntil(
        [&] { return !heartbeats_.empty() && is_wanted(heartbeats_.back()); });
  }

  grpc::Status Register(grpc::ServerContext* context,
                        const v1::RegisterRequest* request,
                        v1::RegisterResponse* response) override {
    return ServeCall(*context, [&] {
      const std::lock_guard lock(mutex_);
      registrations_.push_back(*request);
      changed_.notify_all();
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
      std::unique_lock lock(mutex_);
      heartbeats_.push_back(*request);
      changed_.notify_all();
      changed_.wait_until(lock, DeadlineIn(std::chrono::seconds(60)),
                          [this] { return !hang_; });
      return known_ ? absl::OkStatus() : absl::NotFoundError("unknown daemon");
    });
  }

 private:
  bool WaitUntil(const std::function<bool()>& there) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, DeadlineIn(std::chrono::seconds(30)),
                               there);
  }

  const uint64_t generation_;
  const uint32_t interval_ms_;
  mutable std::mutex mutex_;  // Guards all fields below.
  mutable std::condition_variable changed_;
  bool hang_ = false;
  bool known_ = false;
  absl::Status register_answer_;
  std::vector<v1::RegisterRequest> registrations_;
  std::vector<v1::HeartbeatRequest> heartbeats_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_FAKES_FAKE_HOST_SERVICE_H_
