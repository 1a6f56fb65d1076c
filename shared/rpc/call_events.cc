#include "shared/rpc/call_events.h"

#include <chrono>

#include "shared/base/clock.h"

namespace fgnn {

bool AwaitEvent(grpc::CompletionQueue& events, absl::FunctionRef<void()> tick) {
  while (true) {
    void* tag = nullptr;
    bool ok = false;
    const auto next =
        events.AsyncNext(&tag, &ok, std::chrono::system_clock::now() + kTick);
    if (next != grpc::CompletionQueue::TIMEOUT) return ok;
    tick();
  }
}

void DrainEvents(grpc::CompletionQueue& events) {
  events.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (events.Next(&tag, &ok)) {
  }
}

}  // namespace fgnn
