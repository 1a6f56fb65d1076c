// A thread that finds no memory for a batch, which the next loop finds. New
// memory of one size can be made to be missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/sampler_service/daemon/small_job.h"
#include "tools/python/native/batch_loader.h"

namespace {

std::atomic<size_t> missing_bytes = 0;

}  // namespace

void* operator new(std::size_t bytes) {
  if (bytes > 0 && bytes == missing_bytes) throw std::bad_alloc();
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace fgnn {
namespace {

constexpr std::chrono::minutes kLongWait{2};

// Of two ranks, neither has a batch of a step that is not whole. So the first
// batch of this loader is the first of the second epoch.
TEST(LackOfMemoryTest, AnErrorAtTheFirstBatchOfAnEpochEndsWithTheNextLoop) {
  const SmallJob job;
  const uint64_t batches = job.batches_per_epoch();
  absl::StatusOr<std::unique_ptr<JobBatches>> source =
      JobBatches::Open({.spec = job.spec()});
  ASSERT_THAT(source, IsOk());
  FGNN_ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<BatchLoader> loader,
      BatchLoader::Start(*std::move(source), {.rank = 0, .world = 2}));
  missing_bytes = sizeof(LoadedBatch);
  EXPECT_EQ(*loader->Seek(BatchSeq(batches - 1)), 0U);
  const absl::Status status = loader->Next(DeadlineIn(kLongWait)).status();
  missing_bytes = 0;
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal,
                               testing::HasSubstr("out of memory")));
  EXPECT_EQ(loader->Next(DeadlineIn(kLongWait)).status(), status);
  EXPECT_EQ(*loader->Seek(BatchSeq(batches)), batches / 2);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<LoadedBatch> batch,
                            loader->Next(DeadlineIn(kLongWait)));
  EXPECT_EQ(batch->task.digest, job.digests()[batches]);
}

TEST(BatchPoolTest, WhatIsGivenBackIsUsedAgainUntilThePoolCloses) {
  BatchPool pool(/*bound_bytes=*/4096, /*most_idle=*/2);
  const auto mark_and_give_back = [&pool] {
    std::unique_ptr<LoadedBatch> batch = pool.Take();
    batch->has_edge_places = true;
    pool.GiveBack(std::move(batch));
  };
  mark_and_give_back();
  EXPECT_TRUE(pool.Take()->has_edge_places);
  mark_and_give_back();
  pool.Close();
  // Neither what was idle stays, nor what is given back later.
  EXPECT_FALSE(pool.Take()->has_edge_places);
  mark_and_give_back();
  EXPECT_FALSE(pool.Take()->has_edge_places);
}

}  // namespace
}  // namespace fgnn
