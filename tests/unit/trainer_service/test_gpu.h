// A stream of the device, and arrays in its memory, for tests of kernels. Tests
// run in the emulator, or on a GPU (tests/gpu/run check).
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_TEST_GPU_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_TEST_GPU_H_

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "shared/device/cuda/device_array.h"

namespace fgnn {

// Orders of threads that kernels run with in the emulator.
inline constexpr uint64_t kInterleavings = 5;

// Chooses one of them, with a new device. On a GPU it changes nothing.
// emulated_gpu.cc, tests/gpu/real_gpu.cc.
void SetInterleaving(uint64_t interleaving);

// Not thread-safe. When it ends, it frees its arrays and checks that nothing
// was written beside them.
class TestGpu {
 public:
  explicit TestGpu(uint64_t interleaving = 0) {
    SetInterleaving(interleaving);
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking),
              cudaSuccess);
  }
  ~TestGpu() {
    for (const DeviceArray<std::byte>& array : arrays_) CheckGuards(array);
    cudaStreamDestroy(stream_);
  }
  TestGpu(const TestGpu&) = delete;
  TestGpu& operator=(const TestGpu&) = delete;

  cudaStream_t stream() const { return stream_; }

  // Returns an array whose bytes are 0xff. It is not null, also if it is empty.
  template <typename T>
  T* Room(uint64_t count) {
    const uint64_t bytes = count * sizeof(T) + 2 * kGuardBytes;
    auto array = DeviceArray<std::byte>::Make(bytes);
    EXPECT_TRUE(array.ok()) << array.status();
    EXPECT_EQ(cudaMemsetAsync(array->get(), 0xff, bytes, stream_), cudaSuccess);
    arrays_.push_back(std::move(*array));
    return reinterpret_cast<T*>(arrays_.back().get() + kGuardBytes);
  }

  template <typename T>
  T* Put(const std::vector<T>& values) {
    T* const array = Room<T>(values.size());
    if (!values.empty()) {
      EXPECT_EQ(cudaMemcpyAsync(array, values.data(), values.size() * sizeof(T),
                                cudaMemcpyHostToDevice, stream_),
                cudaSuccess);
    }
    return array;
  }

  // Waits for the stream first.
  template <typename T>
  std::vector<T> Get(const T* array, uint64_t count) {
    std::vector<T> values(count);
    if (count > 0) {
      EXPECT_EQ(cudaMemcpyAsync(values.data(), array, count * sizeof(T),
                                cudaMemcpyDeviceToHost, stream_),
                cudaSuccess);
    }
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    return values;
  }

 private:
  static constexpr uint64_t kGuardBytes = 128;

  void CheckGuards(const DeviceArray<std::byte>& array) {
    const std::vector<std::byte> bytes = Get(array.get(), array.size());
    const auto untouched = [](std::byte byte) {
      return byte == std::byte{0xff};
    };
    EXPECT_TRUE(
        std::all_of(bytes.begin(), bytes.begin() + kGuardBytes, untouched) &&
        std::all_of(bytes.end() - kGuardBytes, bytes.end(), untouched))
        << "a kernel wrote beside an array of "
        << bytes.size() - 2 * kGuardBytes << " bytes";
  }

  cudaStream_t stream_ = nullptr;
  std::vector<DeviceArray<std::byte>> arrays_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_TEST_GPU_H_
