// A program of its own: it counts every allocation of the process.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "tests/fakes/status_matchers.h"
#include "tests/reference/random_graph.h"

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

TEST(SamplerAllocationTest, ABatchAllocatesNothing) {
  const reference::CscGraph graph = reference::RandomGraph(3000, 1);
  const std::vector<int64_t> train = reference::RandomTrainSet(3000, 1);
  const SamplerOptions options = {
      .fanouts = {15, 100, -1}, .batch_size = 64, .seed = 3, .job_key = 1};
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Sampler> sampler,
                            NewCpuSampler({graph.view(), train}, options));
  const uint64_t bytes = (MaxTaskBytesOf(graph.view(), options) + 63) / 64 * 64;
  auto* const block = static_cast<std::byte*>(std::aligned_alloc(64, bytes));
  uint64_t num_edges = 0;
  const uint64_t before = num_allocations.load();
  for (BatchSeq seq(0); seq < BatchSeq(20); ++seq) {
    const absl::StatusOr<SampledTask> sampled =
        sampler->Sample(seq, {block, bytes});
    if (sampled.ok()) num_edges += sampled->num_edges;
  }
  const uint64_t after = num_allocations.load();
  std::free(block);
  EXPECT_EQ(after - before, 0U);
  EXPECT_GT(num_edges, 0U);
  EXPECT_GT(before, 0U);  // The counter counts.
}

}  // namespace
}  // namespace fgnn
