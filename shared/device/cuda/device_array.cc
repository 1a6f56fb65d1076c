#include "shared/device/cuda/device_array.h"

#include <cuda_runtime_api.h>

#include <atomic>

#include "absl/strings/str_cat.h"
#include "shared/device/cuda/status.h"

namespace fgnn {

namespace {

// Bytes of all device arrays of the process.
std::atomic<uint64_t> bytes_in_arrays = 0;

}  // namespace

// An error of a destructor is an earlier one's, which was reported.
void OnDevice::operator()(void* memory) const {
  cudaFree(memory);
  bytes_in_arrays -= bytes;
}
void Pinned::operator()(void* memory) const { cudaFreeHost(memory); }

absl::StatusOr<void*> OnDevice::Allocate(uint64_t bytes) {
  void* memory = nullptr;
  if (bytes == 0) return memory;
  FGNN_RETURN_IF_ERROR(CudaStatus(
      cudaMalloc(&memory, bytes),
      absl::StrCat("cannot allocate ", bytes, " bytes of device memory")));
  bytes_in_arrays += bytes;
  return memory;
}

uint64_t DeviceBytesInArrays() { return bytes_in_arrays; }

absl::StatusOr<void*> Pinned::Allocate(uint64_t bytes) {
  void* memory = nullptr;
  if (bytes == 0) return memory;
  FGNN_RETURN_IF_ERROR(CudaStatus(
      cudaHostAlloc(&memory, bytes, cudaHostAllocPortable),
      absl::StrCat("cannot allocate ", bytes, " bytes of pinned memory")));
  return memory;
}

absl::StatusOr<uint64_t> BytesOf(uint64_t count, uint64_t size) {
  if (count > UINT64_MAX / size) {
    return absl::ResourceExhaustedError(
        absl::StrCat(count, " elements of ", size, " bytes are too many"));
  }
  return count * size;
}

}  // namespace fgnn
