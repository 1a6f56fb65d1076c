#include "tests/fakes/cuda/fake_memory.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>

#include "tests/fakes/cuda/memory_accounts.h"

// There if the program is linked with AddressSanitizer.
extern "C" {
[[gnu::weak]] void __asan_poison_memory_region(const volatile void*, size_t);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void*, size_t);
}

namespace fgnn::simt {
namespace {

constexpr size_t kAlignment = 256;  // As cudaMalloc() promises.

void SetPoisoned(const void* memory, size_t bytes, bool poisoned) {
  if (__asan_poison_memory_region == nullptr) return;
  (poisoned ? __asan_poison_memory_region : __asan_unpoison_memory_region)(
      memory, bytes);
}

// The accounts of one device.
std::string AccountsOf(const FakeDevice& device, int index) {
  if (device.shared_accounts.empty()) return {};
  return device.shared_accounts + "." + std::to_string(index);
}

}  // namespace

cudaError_t FakeMemory::Allocate(const FakeDevice& device, int index,
                                 void** out, size_t bytes, MemoryKind kind) {
  if (kind == MemoryKind::kDevice &&
      !BookMemory(AccountsOf(device, index), device_bytes_[index] + bytes,
                  device.memory_bytes)) {
    return cudaErrorMemoryAllocation;
  }
  if (::posix_memalign(out, kAlignment, bytes) != 0) {
    return cudaErrorMemoryAllocation;
  }
  std::memset(*out, 0xff, bytes);
  memory_[static_cast<char*>(*out)] = {bytes, kind, index};
  if (kind == MemoryKind::kDevice) {
    device_bytes_[index] += bytes;
    SetPoisoned(*out, bytes, true);
  }
  return cudaSuccess;
}

cudaError_t FakeMemory::Register(void* memory, size_t bytes) {
  const char* const begin = static_cast<char*>(memory);
  if (bytes == 0) return cudaErrorInvalidValue;
  const auto next = memory_.lower_bound(begin);
  if (IsKnown(begin) ||
      (next != memory_.end() && next->first < begin + bytes)) {
    return cudaErrorHostMemoryAlreadyRegistered;
  }
  memory_[begin] = {bytes, MemoryKind::kRegistered, /*index=*/0};
  return cudaSuccess;
}

void FakeMemory::Free(const FakeDevice& device, void* memory, MemoryKind kind) {
  const auto found = memory_.find(static_cast<char*>(memory));
  if (found == memory_.end() || found->second.kind != kind) {
    std::fprintf(stderr, "fake cudart: frees what it did not allocate (%p)\n",
                 memory);
    std::abort();
  }
  SetPoisoned(memory, found->second.bytes, false);
  if (kind == MemoryKind::kDevice) {
    const int index = found->second.index;
    device_bytes_[index] -= found->second.bytes;
    BookMemory(AccountsOf(device, index), device_bytes_[index], SIZE_MAX);
  }
  memory_.erase(found);
  if (kind != MemoryKind::kRegistered) std::free(memory);
}

const FakeMemory::Memory* FakeMemory::Find(const void* address) const {
  const char* const at = static_cast<const char*>(address);
  const auto next = memory_.upper_bound(at);
  if (next == memory_.begin()) return nullptr;
  const auto& [begin, memory] = *std::prev(next);
  return at < begin + memory.bytes ? &memory : nullptr;
}

size_t FakeMemory::device_bytes() const {
  size_t sum = 0;
  for (const auto& [index, bytes] : device_bytes_) sum += bytes;
  return sum;
}

size_t FakeMemory::BookedBytes(const FakeDevice& device, int index) const {
  const auto mine = device_bytes_.find(index);
  return BookedMemory(AccountsOf(device, index),
                      mine == device_bytes_.end() ? 0 : mine->second);
}

bool FakeMemory::IsDevice(const void* address) const {
  const Memory* const found = Find(address);
  return found != nullptr && found->kind == MemoryKind::kDevice;
}

void FakeMemory::SetOpen(bool open) {
  for (const auto& [begin, memory] : memory_) {
    if (memory.kind == MemoryKind::kDevice) {
      SetPoisoned(begin, memory.bytes, !open);
    }
  }
}

}  // namespace fgnn::simt
