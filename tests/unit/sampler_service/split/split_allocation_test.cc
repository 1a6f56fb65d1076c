// A program of its own: it counts every allocation of the process.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "tests/unit/sampler_service/split/split_case.h"

namespace {
std::atomic<uint64_t> num_allocations = 0;

void* Allocate(std::size_t bytes) {
  num_allocations.fetch_add(1, std::memory_order_relaxed);
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace

void* operator new(std::size_t bytes) { return Allocate(bytes); }
void* operator new[](std::size_t bytes) { return Allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace fgnn {
namespace {

TEST(SplitAllocationTest, ABatchThatFitsAllocatesNothing) {
  constexpr uint32_t kNumNodes = 500;
  constexpr uint32_t kNumParts = 4;
  const TestBook book = RandomBook(kNumNodes, kFineParts, 1);
  std::vector<Block> wholes;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    TaskContent task = RandomTask(seed);
    task.pairs.clear();
    task.num_positives = 0;
    for (uint32_t& node : task.input_nodes) node %= kNumNodes;
    wholes.emplace_back(task.Bytes());
    ASSERT_THAT(WriteTask(task, wholes.back().span()), IsOk());
  }
  Block block(1 << 20);
  BatchSplitter splitter(book.get(), kNumParts);
  uint64_t bytes = 0;
  const auto split_all = [&] {
    const uint64_t before = num_allocations.load();
    for (Block& whole : wholes) {
      if (!splitter.Prepare(ViewOfTask(whole.span())).ok()) continue;
      for (uint32_t p = 0; p < kNumParts; ++p) {
        if (!splitter.Write(p, kTestJob, {}, block.span()).ok()) continue;
        bytes += splitter.BytesOf(p);
      }
    }
    return num_allocations.load() - before;
  };
  EXPECT_GT(split_all(), 0U);  // The counter counts.
  EXPECT_EQ(split_all(), 0U);
  EXPECT_GT(bytes, 0U);
}

}  // namespace
}  // namespace fgnn
