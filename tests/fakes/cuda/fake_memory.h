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
  // Of the exact size, so that AddressSanitizer guards the end.
  cudaError_t Allocate(const FakeDevice& device, void** out, size_t bytes,
                       MemoryKind kind);
  cudaError_t Register(void* memory, size_t bytes);
  // Ends the program if `memory` is no beginning of an allocation of the kind.
  void Free(const FakeDevice& device, void* memory, MemoryKind kind);

  bool IsKnown(const void* address) const { return Find(address) != nullptr; }
  bool IsDevice(const void* address) const;
  size_t device_bytes() const { return device_bytes_; }

  // Whether host code may touch device memory: while work of a stream runs.
  void SetOpen(bool open);

 private:
  struct Memory {
    size_t bytes;
    MemoryKind kind;
  };
  const Memory* Find(const void* address) const;

  std::map<const char*, Memory> memory_;  // By first address.
  size_t device_bytes_ = 0;
};

}  // namespace fgnn::simt

#endif  // FGNN_TESTS_FAKES_CUDA_FAKE_MEMORY_H_
