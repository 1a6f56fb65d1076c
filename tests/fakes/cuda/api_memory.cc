// Memory and copies of CUDA's API.
#include <cuda_runtime_api.h>

#include <cstring>
#include <memory>
#include <vector>

#include "tests/fakes/cuda/fake_runtime.h"

namespace {

using fgnn::simt::FakeRuntime;
using fgnn::simt::MemoryKind;

FakeRuntime& R() { return FakeRuntime::Get(); }

cudaError_t Allocate(void** out, size_t bytes, MemoryKind kind) {
  return R().Call([&] {
    ++R().mutable_counts().allocations;
    return R().memory().Allocate(R().device(), FakeRuntime::current(), out,
                                 bytes, kind);
  });
}

// Waits for all work, as CUDA does.
cudaError_t Free(void* memory, MemoryKind kind) {
  if (memory == nullptr) return cudaSuccess;
  return R().Release([&] {
    R().RunUntil([] { return R().IsIdle(); });
    R().memory().Free(R().device(), memory, kind);
  });
}

// Whether `kind` says where the addresses are.
bool IsRight(cudaMemcpyKind kind, bool to_device, bool from_device) {
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return to_device && !from_device;
    case cudaMemcpyDeviceToHost:
      return !to_device && from_device;
    case cudaMemcpyDeviceToDevice:
      return to_device && from_device;
    case cudaMemcpyHostToHost:
      return !to_device && !from_device;
    case cudaMemcpyDefault:
      return true;
  }
  return false;
}

// Pageable memory is staged: it may change as soon as the call has returned.
std::function<void()> CopyWork(void* to, const void* from, size_t bytes) {
  if (R().memory().IsKnown(from)) {
    return [=] { std::memcpy(to, from, bytes); };
  }
  const auto staged = std::make_shared<std::vector<char>>(
      static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
  return [=] { std::memcpy(to, staged->data(), bytes); };
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** out, size_t bytes) {
  return Allocate(out, bytes, MemoryKind::kDevice);
}
cudaError_t cudaFree(void* memory) { return Free(memory, MemoryKind::kDevice); }

cudaError_t cudaHostAlloc(void** out, size_t bytes, unsigned /*flags*/) {
  return Allocate(out, bytes, MemoryKind::kPinned);
}
cudaError_t cudaFreeHost(void* memory) {
  return Free(memory, MemoryKind::kPinned);
}

cudaError_t cudaHostRegister(void* memory, size_t bytes, unsigned /*flags*/) {
  return R().Call([&] { return R().memory().Register(memory, bytes); });
}
cudaError_t cudaHostUnregister(void* memory) {
  return Free(memory, MemoryKind::kRegistered);
}
cudaError_t cudaHostGetDevicePointer(void** out, void* host,
                                     unsigned /*flags*/) {
  return R().Call([&] {
    if (!R().memory().IsKnown(host)) return cudaErrorInvalidValue;
    *out = host;
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream) {
  return R().Call([&] {
    if (bytes == 0) return cudaSuccess;
    if (!IsRight(kind, R().memory().IsDevice(to),
                 R().memory().IsDevice(from))) {
      return cudaErrorInvalidValue;
    }
    ++R().mutable_counts().copies;
    R().mutable_counts().copied_bytes += bytes;
    return R().AddWork(stream, {.run = CopyWork(to, from, bytes)});
  });
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes,
                            cudaStream_t stream) {
  return R().Call([&] {
    if (bytes == 0) return cudaSuccess;
    return R().AddWork(stream, {.run = [=] { std::memset(to, value, bytes); }});
  });
}

}  // extern "C"
