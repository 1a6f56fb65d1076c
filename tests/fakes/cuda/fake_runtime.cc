#include "tests/fakes/cuda/fake_runtime.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "tests/simt/launch.h"

namespace fgnn::simt {
namespace {

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "fake cudart: %s\n", what);
  std::abort();
}

thread_local int current_device = 0;

bool CanRun(const CUstream_st& stream) {
  if (stream.work.empty()) return false;
  const Work& first = stream.work.front();
  if (first.ready && !first.ready()) return false;
  return first.event == nullptr || first.event->reached >= first.recording;
}

}  // namespace

FakeRuntime& FakeRuntime::Get() {
  static FakeRuntime* const runtime = new FakeRuntime;
  return *runtime;
}

void FakeRuntime::SetDevice(const FakeDevice& device) {
  const std::lock_guard lock(mutex_);
  device_ = device;
  random_.seed(device.seed);
  counts_ = {};
  sticky_ = last_ = cudaSuccess;
  calls_left_ = UINT64_MAX;
  fault_now_ = false;
}

void FakeRuntime::Plan(uint64_t calls, cudaError_t error, bool sticky) {
  const std::lock_guard lock(mutex_);
  calls_left_ = calls;
  planned_ = error;
  planned_is_sticky_ = sticky;
}

int FakeRuntime::current() { return current_device; }
void FakeRuntime::SetCurrent(int device) { current_device = device; }

FakeCounts FakeRuntime::counts() {
  const std::lock_guard lock(mutex_);
  FakeCounts counts = counts_;
  counts.allocated_bytes = memory_.device_bytes();
  return counts;
}

cudaError_t FakeRuntime::Begin() {
  if (device_.count == 0) return Remember(cudaErrorInsufficientDriver);
  if (sticky_ != cudaSuccess) return sticky_;
  if (fault_now_.exchange(false)) {
    calls_left_ = 0;
    planned_ = cudaErrorIllegalAddress;
    planned_is_sticky_ = true;
  }
  if (calls_left_-- != 0) return cudaSuccess;
  if (planned_is_sticky_) {
    sticky_ = planned_;
    DropWork();
  }
  return Remember(planned_);
}

void FakeRuntime::DropWork() {
  for (const cudaStream_t stream : streams_) {
    for (const Work& work : stream->work) {
      if (work.outlives_faults) work.run();
    }
    stream->work.clear();
  }
}

cudaError_t FakeRuntime::Remember(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) last_ = error;
  return error;
}

cudaError_t FakeRuntime::TakeLastError() {
  const std::lock_guard lock(mutex_);
  if (sticky_ != cudaSuccess) return sticky_;
  return std::exchange(last_, cudaSuccess);
}

cudaStream_t FakeRuntime::AddStream() {
  streams_.push_back(new CUstream_st);
  return streams_.back();
}

void FakeRuntime::DropStream(cudaStream_t stream) {
  RunUntil([stream] { return stream->work.empty(); });
  std::erase(streams_, stream);
  delete stream;
}

cudaError_t FakeRuntime::AddWork(cudaStream_t stream, Work work) {
  if (stream == nullptr) Die("work for the null stream");
  stream->work.push_back(std::move(work));
  if (!device_.lazy) {
    while (Step()) {
    }
  }
  return cudaSuccess;
}

bool FakeRuntime::Step() {
  std::vector<cudaStream_t> ready;
  for (const cudaStream_t stream : streams_) {
    if (CanRun(*stream)) ready.push_back(stream);
  }
  if (ready.empty()) return false;
  const cudaStream_t stream = ready[random_() % ready.size()];
  const Work work = std::move(stream->work.front());
  stream->work.pop_front();
  if (work.run) {
    memory_.SetOpen(true);
    work.run();
    memory_.SetOpen(false);
  }
  return true;
}

void FakeRuntime::RunUntil(const std::function<bool()>& done) {
  while (!done()) {
    if (!Step()) Die("a wait that no work can end");
  }
}

cudaError_t FakeRuntime::WaitUntil(const std::function<bool()>& done) {
  ++counts_.waits;
  RunUntil(done);
  return cudaSuccess;
}

bool FakeRuntime::IsIdle() const {
  return std::all_of(
      streams_.begin(), streams_.end(),
      [](const cudaStream_t stream) { return stream->work.empty(); });
}

void SetFakeDevice(const FakeDevice& device) {
  FakeRuntime::Get().SetDevice(device);
}
void FailAfter(uint64_t calls, cudaError_t error, bool sticky) {
  FakeRuntime::Get().Plan(calls, error, sticky);
}
void FailNow() { FakeRuntime::Get().PlanFaultNow(); }
FakeCounts GetFakeCounts() { return FakeRuntime::Get().counts(); }

cudaError_t Enqueue(cudaStream_t stream, std::function<void()> work) {
  FakeRuntime& runtime = FakeRuntime::Get();
  return runtime.Call([&] {
    ++runtime.mutable_counts().launches;
    return runtime.AddWork(stream, {.run = std::move(work)});
  });
}

}  // namespace fgnn::simt
