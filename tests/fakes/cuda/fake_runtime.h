// The process's one fake runtime: its errors, streams and events.
#ifndef FGNN_TESTS_FAKES_CUDA_FAKE_RUNTIME_H_
#define FGNN_TESTS_FAKES_CUDA_FAKE_RUNTIME_H_

#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "tests/fakes/cuda/fake_cudart.h"
#include "tests/fakes/cuda/fake_memory.h"

namespace fgnn::simt {

// Recording k of an event is reached when `reached` >= k.
struct EventState {
  uint64_t recorded = 0;
  uint64_t reached = 0;
  uint64_t waited_for = 0;  // The last recording that a wait was counted for.
  std::chrono::steady_clock::time_point time;
};

struct Work {
  std::function<void()> run = nullptr;
  // Of a wait for an event, which does nothing else.
  std::shared_ptr<EventState> event = nullptr;
  uint64_t recording = 0;
  // Whether it is done even when a fault drops the work that waits.
  bool outlives_faults = false;
  // Whether it can be done now; empty: yes. Of work with other processes.
  std::function<bool()> ready = nullptr;
};

}  // namespace fgnn::simt

struct CUevent_st {
  std::shared_ptr<fgnn::simt::EventState> state;  // Also of work that waits.
  bool measures = false;
};
struct CUstream_st {
  std::deque<fgnn::simt::Work> work;
};

namespace fgnn::simt {

class FakeRuntime {
 public:
  static FakeRuntime& Get();

  void SetDevice(const FakeDevice& device);
  void Plan(uint64_t calls, cudaError_t error, bool sticky);
  void PlanFaultNow() { fault_now_ = true; }  // Also in a signal's handler.
  FakeCounts counts();

  // A function of the API: `body` returns its error, under the lock, unless an
  // error is planned or there is no device. Work of streams runs in it.
  template <typename Body>
  cudaError_t Call(Body body) {
    const std::lock_guard lock(mutex_);
    if (const cudaError_t error = Begin(); error != cudaSuccess) return error;
    return Remember(body());
  }
  // One that has to do its part after any error: what frees.
  template <typename Body>
  cudaError_t Release(Body body) {
    const std::lock_guard lock(mutex_);
    body();
    return sticky_;
  }
  cudaError_t TakeLastError();

  // The rest is for bodies.
  const FakeDevice& device() const { return device_; }
  // The number of the calling thread's device.
  static int current();
  static void SetCurrent(int device);
  FakeMemory& memory() { return memory_; }
  FakeCounts& mutable_counts() { return counts_; }

  cudaStream_t AddStream();
  void DropStream(cudaStream_t stream);
  cudaError_t AddWork(cudaStream_t stream, Work work);
  // Does one piece of work of any stream. Returns false if none can be done.
  bool Step();
  // Does work until `done`. Ends the program if no work is left for it.
  void RunUntil(const std::function<bool()>& done);
  // The same, as a wait of the host.
  cudaError_t WaitUntil(const std::function<bool()>& done);
  bool IsIdle() const;

 private:
  cudaError_t Begin();
  void DropWork();
  cudaError_t Remember(cudaError_t error);

  std::mutex mutex_;
  FakeDevice device_;
  FakeMemory memory_;
  FakeCounts counts_;
  std::mt19937_64 random_{1};
  std::vector<cudaStream_t> streams_;
  uint64_t calls_left_ = UINT64_MAX;  // Before the planned error.
  cudaError_t planned_ = cudaSuccess;
  bool planned_is_sticky_ = false;
  std::atomic<bool> fault_now_ = false;
  cudaError_t sticky_ = cudaSuccess;
  cudaError_t last_ = cudaSuccess;
};

}  // namespace fgnn::simt

#endif  // FGNN_TESTS_FAKES_CUDA_FAKE_RUNTIME_H_
