// Streams and events of CUDA's API.
#include <cuda_runtime_api.h>

#include <chrono>
#include <memory>

#include "tests/fakes/cuda/fake_runtime.h"

namespace {

using fgnn::simt::EventState;
using fgnn::simt::FakeRuntime;

FakeRuntime& R() { return FakeRuntime::Get(); }

bool IsReached(const EventState& event) {
  return event.reached == event.recorded;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned /*flags*/) {
  return R().Call([&] {
    *out = R().AddStream();
    return cudaSuccess;
  });
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return R().Release([&] { R().DropStream(stream); });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return R().Call(
      [&] { return R().WaitUntil([&] { return stream->work.empty(); }); });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned /*flags*/) {
  return R().Call([&] {
    return R().AddWork(stream, {.run = nullptr,
                                .event = event->state,
                                .recording = event->state->recorded});
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned flags) {
  return R().Call([&] {
    *out = new CUevent_st{.state = std::make_shared<EventState>(),
                          .measures = (flags & cudaEventDisableTiming) == 0};
    return cudaSuccess;
  });
}
// Work that records it or waits for it has its own hold on the state.
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return R().Release([&] { delete event; });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return R().Call([&] {
    const std::shared_ptr<EventState> state = event->state;
    const uint64_t recording = ++state->recorded;
    const auto mark = [state, recording] {
      state->reached = recording;
      state->time = std::chrono::steady_clock::now();
    };
    return R().AddWork(stream, {.run = mark, .outlives_faults = true});
  });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return R().Call([&] {
    if (IsReached(*event->state)) return cudaSuccess;
    // The first of a loop of queries is a wait.
    if (event->state->waited_for < event->state->recorded) {
      event->state->waited_for = event->state->recorded;
      ++R().mutable_counts().waits;
    }
    R().Step();  // So that the loop ends.
    return IsReached(*event->state) ? cudaSuccess : cudaErrorNotReady;
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return R().Call(
      [&] { return R().WaitUntil([&] { return IsReached(*event->state); }); });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from,
                                 cudaEvent_t to) {
  return R().Call([&] {
    if (!from->measures || !to->measures) return cudaErrorInvalidResourceHandle;
    if (!IsReached(*from->state) || !IsReached(*to->state)) {
      return cudaErrorNotReady;
    }
    *milliseconds = std::chrono::duration<float, std::milli>(to->state->time -
                                                             from->state->time)
                        .count();
    return cudaSuccess;
  });
}

}  // extern "C"
