// A program of its own: it counts every allocation of the process.
#include "tools/bench/allocation_counter.h"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <thread>

namespace fgnn {
namespace {

struct alignas(128) Wide {
  char bytes[200];
};

// Hidden from the compiler, which may leave out a pair of new and delete.
template <typename T>
T* Keep(T* pointer) {
  asm volatile("" : "+r"(pointer));
  return pointer;
}

TEST(AllocationCounterTest, CountsEveryFormOfNewOnceAndDeleteNever) {
  const uint64_t before = *ThreadAllocations();
  delete Keep(new int(1));
  delete[] Keep(new int[100]);
  delete Keep(new Wide);
  delete[] Keep(new Wide[3]);
  delete Keep(new (std::nothrow) int(2));
  EXPECT_EQ(*ThreadAllocations() - before, 5U);
}

TEST(AllocationCounterTest, AlignsAsAsked) {
  for (int i = 0; i < 10; ++i) {
    const auto wide = std::make_unique<Wide>();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(wide.get()) % alignof(Wide), 0U);
  }
}

TEST(AllocationCounterTest, CountsTheCallingThreadAlone) {
  uint64_t in_thread = 0;
  uint64_t outside = 0;
  std::thread thread([&] {
    const uint64_t before = *ThreadAllocations();
    for (int i = 0; i < 1000; ++i) delete Keep(new int(i));
    in_thread = *ThreadAllocations() - before;
  });
  const uint64_t before = *ThreadAllocations();
  thread.join();
  outside = *ThreadAllocations() - before;
  EXPECT_EQ(in_thread, 1000U);
  EXPECT_EQ(outside, 0U);
}

}  // namespace
}  // namespace fgnn
