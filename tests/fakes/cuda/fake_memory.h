// Memory that the fake runtime knows. One thread at a time calls.
#ifndef FGNN_TESTS_FAKES_CUDA_FAKE_MEMORY_H_
#define FGNN_TESTS_FAKES_CUDA_FAKE_MEMORY_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>

#include "tests/fakes/cuda/fake_cudart.h"

namespace fgnn::simt {

enum class MemoryKind { kDevice, kPinned, kRegistered };

class FakeMemory {
 public:
  // Of the exact size, so that AddressSanitizer guards the end. Device memory
  // is that of the device with the number `index`.
  cudaError_t Allocate(const FakeDevice& device, int index, void** out,
                       size_t bytes, MemoryKind kind);
  cudaError_t Register(void* memory, size_t bytes);
  // Ends the program if `memory` is no beginning of an allocation of the kind.
  void Free(const FakeDevice& device, void* memory, MemoryKind kind);

  bool IsKnown(const void* address) const { return Find(address) != nullptr; }
  bool IsDevice(const void* address) const;
  size_t device_bytes() const;  // Of all devices.
  // Of one device, with what other processes have.
  size_t BookedBytes(const FakeDevice& device, int index) const;

  // Whether host code may touch device memory: while work of a stream runs.
  void SetOpen(bool open);

 private:
  struct Memory {
    size_t bytes;
    MemoryKind kind;
    int index;  // Number of the device, for its memory.
  };
  const Memory* Find(const void* address) const;

  std::map<const char*, Memory> memory_;  // By first address.
  std::map<int, size_t> device_bytes_;    // By number of the device.
};

}  // namespace fgnn::simt

#endif  // FGNN_TESTS_FAKES_CUDA_FAKE_MEMORY_H_
