// The operators below do what the library's operators do, and increment a
// number that no other thread sees. operator new[] and the forms that do not
// throw call them.
#include "tools/bench/allocation_counter.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

thread_local uint64_t num_allocations = 0;

void* OrThrow(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// Not inlined: otherwise the compiler sees memory of malloc() given to delete,
// and warns.
__attribute__((noinline)) void* operator new(std::size_t bytes) {
  ++num_allocations;
  return OrThrow(std::malloc(std::max<std::size_t>(bytes, 1)));
}
__attribute__((noinline)) void* operator new(std::size_t bytes,
                                             std::align_val_t alignment) {
  ++num_allocations;
  const auto unit = static_cast<std::size_t>(alignment);
  const std::size_t units = std::max<std::size_t>((bytes + unit - 1) / unit, 1);
  return OrThrow(std::aligned_alloc(unit, units * unit));
}
__attribute__((noinline)) void operator delete(void* memory) noexcept {
  std::free(memory);
}
__attribute__((noinline)) void operator delete(void* memory,
                                               std::size_t) noexcept {
  std::free(memory);
}
__attribute__((noinline)) void operator delete(void* memory,
                                               std::align_val_t) noexcept {
  std::free(memory);
}
__attribute__((noinline)) void operator delete(void* memory, std::size_t,
                                               std::align_val_t) noexcept {
  std::free(memory);
}

namespace fgnn {

std::optional<uint64_t> ThreadAllocations() { return num_allocations; }

}  // namespace fgnn
