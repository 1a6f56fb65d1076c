// What the programs of tests/gpu that time kernels share: arrays, clocks and
// the rates that figures are held against.
#ifndef FGNN_TESTS_GPU_GPU_BENCH_H_
#define FGNN_TESTS_GPU_GPU_BENCH_H_

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/gpu/report.h"

namespace fgnn {

// Ends the program where the device refuses: nothing can be measured then.
inline void Must(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s: %s\n0 passed, 1 failed\n", what, cudaGetErrorName(error),
              cudaGetErrorString(error));
  std::exit(1);
}

// The exit code of a program that finds no GPU.
inline constexpr int kNoGpu = 77;

// Says why if there is none.
inline bool HasGpu() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return true;
  std::printf("skipped: no GPU (%s)\n", cudaGetErrorName(error));
  return false;
}

// T[count] in device memory.
template <typename T>
class OnGpu {
 public:
  OnGpu() = default;
  explicit OnGpu(uint64_t count) : count_(count) {
    Must(cudaMalloc(&memory_, std::max<uint64_t>(bytes(), 1)), "cudaMalloc");
  }
  explicit OnGpu(const std::vector<T>& values) : OnGpu(values.size()) {
    Must(cudaMemcpy(memory_, values.data(), bytes(), cudaMemcpyHostToDevice),
         "copy to the device");
  }
  ~OnGpu() { cudaFree(memory_); }
  OnGpu(OnGpu&& other) noexcept { *this = std::move(other); }
  OnGpu& operator=(OnGpu&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(count_, other.count_);
    return *this;
  }

  T* get() const { return static_cast<T*>(memory_); }
  uint64_t size() const { return count_; }
  uint64_t bytes() const { return count_ * sizeof(T); }
  // Waits for all work of the device.
  std::vector<T> Copy() const {
    std::vector<T> values(count_);
    Must(cudaDeviceSynchronize(), "wait for the device");
    Must(cudaMemcpy(values.data(), memory_, bytes(), cudaMemcpyDeviceToHost),
         "copy from the device");
    return values;
  }
  void Poison() const { Must(cudaMemset(memory_, 0xff, bytes()), "poison"); }

 private:
  void* memory_ = nullptr;
  uint64_t count_ = 0;
};

// Times work on a stream of its own, by the device's clock.
class GpuClock {
 public:
  GpuClock() {
    Must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    Must(cudaEventCreate(&begin_), "event");
    Must(cudaEventCreate(&end_), "event");
  }
  ~GpuClock() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    cudaStreamDestroy(stream_);
  }
  GpuClock(const GpuClock&) = delete;
  GpuClock& operator=(const GpuClock&) = delete;

  cudaStream_t stream() const { return stream_; }

  // Returns the median of the seconds of one of `calls` calls in a row. work(i)
  // is given their running number, to take other inputs than the call before.
  double Seconds(int calls, const std::function<cudaError_t(int)>& work) const {
    constexpr int kRounds = 7;
    std::vector<double> seconds;
    int number = 0;
    for (int round = -1; round < kRounds; ++round) {  // The first warms up.
      Must(cudaEventRecord(begin_, stream_), "event");
      for (int i = 0; i < calls; ++i) Must(work(number++), "launch");
      Must(cudaEventRecord(end_, stream_), "event");
      Must(cudaEventSynchronize(end_), "wait for the device");
      float milliseconds = 0;
      Must(cudaEventElapsedTime(&milliseconds, begin_, end_), "event");
      if (round >= 0) seconds.push_back(milliseconds / 1e3 / calls);
    }
    std::nth_element(seconds.begin(), seconds.begin() + kRounds / 2,
                     seconds.end());
    return seconds[kRounds / 2];
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

// Bytes a second that the device's memory reads and writes in a copy.
inline double MemoryRate(const GpuClock& clock) {
  constexpr uint64_t kBytes = uint64_t{1} << 30;
  const OnGpu<std::byte> from(kBytes);
  const OnGpu<std::byte> to(kBytes);
  from.Poison();
  const double seconds = clock.Seconds(2, [&](int) {
    return cudaMemcpyAsync(to.get(), from.get(), kBytes,
                           cudaMemcpyDeviceToDevice, clock.stream());
  });
  return 2 * kBytes / seconds;
}

// Prints that rate beside what the memory's clock and width allow. Returns it.
inline double PrintMemoryRate(const GpuClock& clock, Report* report) {
  int khz = 0;
  int bits = 0;
  Must(cudaDeviceGetAttribute(&khz, cudaDevAttrMemoryClockRate, 0), "clock");
  Must(cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, 0),
       "width");
  const double rate = MemoryRate(clock);
  report->Figure("HBM, copy of 1 GiB", rate / 1e9, "GB/s",
                 "read and written; limit " +
                     Report::Number(2e3 * khz * (bits / 8) / 1e9) +
                     ": memory clock and width");
  return rate;
}

// What a program was asked for.
struct Parts {
  bool checks = false;
  bool times = false;
};

// The main() of a program that checks, times, or does both, as its word says.
// Returns its exit code.
inline int RunParts(
    int argc, char** argv,
    const std::function<void(Parts, const GpuClock&, Report*)>& run) {
  const std::string word = argc > 1 ? argv[1] : "all";
  const Parts parts = {.checks = word == "check" || word == "all",
                       .times = word == "time" || word == "all"};
  if (!parts.checks && !parts.times) {
    std::fprintf(stderr, "usage: %s [check|time|all]\n", argv[0]);
    return 2;
  }
  if (!HasGpu()) return kNoGpu;
  Report report;
  const GpuClock clock;
  run(parts, clock, &report);
  return report.Finish();
}

// Calls work(first, last) for parts of [0, count) on all cores.
inline void OnAllCores(uint64_t count,
                       const std::function<void(uint64_t, uint64_t)>& work) {
  const uint64_t parts = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (uint64_t p = 0; p < parts; ++p) {
    threads.emplace_back(work, count * p / parts, count * (p + 1) / parts);
  }
  for (std::thread& thread : threads) thread.join();
}

// A number that looks random, the same for the same i.
inline uint64_t Scramble(uint64_t i) {
  i = (i + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
  i = (i ^ i >> 27) * 0x94d049bb133111ebu;
  return i ^ i >> 31;
}

}  // namespace fgnn

#endif  // FGNN_TESTS_GPU_GPU_BENCH_H_
