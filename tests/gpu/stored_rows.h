// A store of rows in registered host memory, and the same rows in device
// memory: what fgnn_gpu_extract* take batches from.
#ifndef FGNN_TESTS_GPU_STORED_ROWS_H_
#define FGNN_TESTS_GPU_STORED_ROWS_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/gpu/gpu_bench.h"

namespace fgnn {

class StoredRows {
 public:
  // word(i) returns the bytes [8 i, 8 i + 8) of the store.
  StoredRows(uint64_t bytes, uint64_t (*word)(uint64_t))
      : host_(bytes), table_(bytes) {
    OnAllCores(bytes / 8, [this, word](uint64_t first, uint64_t last) {
      for (uint64_t i = first; i < last; ++i) {
        const uint64_t bits = word(i);
        std::memcpy(&host_[i * 8], &bits, 8);
      }
    });
    Must(cudaHostRegister(host_.data(), bytes, cudaHostRegisterPortable),
         "register host memory");
    void* device = nullptr;
    Must(cudaHostGetDevicePointer(&device, host_.data(), 0), "device pointer");
    misses_ = static_cast<std::byte*>(device);
    Must(cudaMemcpy(table_.get(), host_.data(), bytes, cudaMemcpyHostToDevice),
         "fill the table");
  }
  ~StoredRows() { cudaHostUnregister(host_.data()); }
  StoredRows(const StoredRows&) = delete;
  StoredRows& operator=(const StoredRows&) = delete;

  const std::byte* host() const { return host_.data(); }
  // The host's rows, by the device's address.
  const std::byte* misses() const { return misses_; }
  const std::byte* table() const { return table_.get(); }

  // Returns the bytes a second of a copy from the host to the device.
  double CopyRate(const GpuClock& clock) const {
    constexpr uint64_t kBytes = uint64_t{512} << 20;
    const double seconds = clock.Seconds(1, [&](int) {
      return cudaMemcpyAsync(table_.get(), host_.data(), kBytes,
                             cudaMemcpyHostToDevice, clock.stream());
    });
    return kBytes / seconds;
  }

 private:
  std::vector<std::byte> host_;
  OnGpu<std::byte> table_;
  std::byte* misses_ = nullptr;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_GPU_STORED_ROWS_H_
