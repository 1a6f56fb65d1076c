#include "tools/python/native/batch_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/sampler_service/daemon/small_job.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

constexpr std::chrono::minutes kLong{2};

class BatchLoaderTest : public testing::Test {
 protected:
  std::unique_ptr<JobBatches> Open(JobBatchesOptions options = {}) {
    options.spec = job_.spec();
    absl::StatusOr<std::unique_ptr<JobBatches>> source =
        JobBatches::Open(std::move(options));
    EXPECT_THAT(source, IsOk());
    return *std::move(source);
  }
  std::unique_ptr<BatchLoader> Start(const BatchLoaderOptions& options) {
    absl::StatusOr<std::unique_ptr<BatchLoader>> loader =
        BatchLoader::Start(Open(), options);
    EXPECT_THAT(loader, IsOk());
    return *std::move(loader);
  }
  // Takes so many batches, each of which has the digest of its number.
  void Take(BatchLoader& loader, const std::vector<uint64_t>& batches) {
    for (const uint64_t expected : batches) {
      FGNN_ASSERT_OK_AND_ASSIGN(std::unique_ptr<LoadedBatch> batch,
                                loader.Next(DeadlineIn(kLong)));
      EXPECT_EQ(batch->task.seq.value(), expected);
      EXPECT_EQ(batch->task.digest, job_.digests()[expected]);
      loader.pool()->GiveBack(std::move(batch));
    }
  }

  const SmallJob job_;
};

TEST_F(BatchLoaderTest, BatchesAreTheServicesInOrderForAnyThreads) {
  for (const uint32_t threads : {1, 2, 4}) {
    for (const uint32_t ahead : {1, 3, 8}) {
      const auto loader = Start({.num_threads = threads, .ahead = ahead});
      FGNN_ASSERT_OK_AND_ASSIGN(const uint64_t num_batches,
                                loader->Seek(BatchSeq(0)));
      EXPECT_EQ(num_batches, job_.batches_per_epoch());
      std::vector<uint64_t> all(job_.num_batches());
      for (uint64_t i = 0; i < all.size(); ++i) all[i] = i;
      Take(*loader, all);
    }
  }
}

TEST_F(BatchLoaderTest, GoesToAnyBatchAndOnIntoTheNextEpoch) {
  const auto loader = Start({.num_threads = 2, .ahead = 4});
  const uint64_t batches = job_.batches_per_epoch();
  EXPECT_EQ(*loader->Seek(BatchSeq(5)), batches - 5);
  Take(*loader, {5, 6});
  EXPECT_EQ(*loader->Seek(BatchSeq(batches - 1)), 1U);
  Take(*loader, {batches - 1});
  // The threads are there already.
  EXPECT_EQ(*loader->Seek(BatchSeq(batches)), batches);
  Take(*loader, {batches, batches + 1});
  EXPECT_EQ(*loader->Seek(BatchSeq(0)), batches);
  Take(*loader, {0});
}

// Batches that are being made when the loop goes elsewhere are not its next
// ones.
TEST_F(BatchLoaderTest, WhatWasMadeForAnotherPlaceIsForgotten) {
  const auto loader = Start({.num_threads = 4, .ahead = 8});
  for (uint64_t i = 0; i < 200; ++i) {
    const uint64_t begin = i % 2 == 0 ? 3 : 11;
    EXPECT_THAT(loader->Seek(BatchSeq(begin)), IsOk());
    Take(*loader, {begin, begin + 1});
  }
}

TEST_F(BatchLoaderTest, ARankHasItsBatchesOfEachStep) {
  const auto loader =
      Start({.num_threads = 2, .ahead = 2, .rank = 1, .world = 3});
  EXPECT_THAT(loader->Seek(BatchSeq(2)), IsOk());
  Take(*loader, {3, 6, 9});
}

TEST_F(BatchLoaderTest, NothingIsMadeBeyondWhatIsAhead) {
  constexpr uint32_t kAhead = 2;
  const auto loader = Start({.num_threads = 1, .ahead = kAhead});
  EXPECT_THAT(loader->Seek(BatchSeq(0)), IsOk());
  Take(*loader, {0});
  // As long as another loader needs for an epoch, this one could work.
  const auto other = Start({.num_threads = 1, .ahead = 1});
  FGNN_ASSERT_OK_AND_ASSIGN(const uint64_t count, other->Seek(BatchSeq(0)));
  ASSERT_GT(count, kAhead + 2);
  for (uint64_t seq = 0; seq < count; ++seq) Take(*other, {seq});
  job_.DamageIndices();
  uint32_t num_made = 0;
  while (loader->Next(DeadlineIn(kLong)).ok()) ++num_made;
  EXPECT_LE(num_made, kAhead);
}

TEST_F(BatchLoaderTest, ABatchThatIsKeptKeepsItsMemory) {
  const auto loader = Start({.num_threads = 1, .ahead = 1});
  // Nothing is made before the first Seek().
  EXPECT_THAT(loader->Next(DeadlineIn(std::chrono::milliseconds(1))),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_THAT(loader->Seek(BatchSeq(0)), IsOk());
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<LoadedBatch> kept,
                            loader->Next(DeadlineIn(kLong)));
  const std::vector<int64_t> nodes(
      kept->nodes.data(), kept->nodes.data() + kept->task.input_nodes.size());
  // The memory of a batch that is kept is not used again.
  Take(*loader, {1, 2, 3});
  EXPECT_TRUE(std::equal(nodes.begin(), nodes.end(), kept->nodes.data()));
}

TEST_F(BatchLoaderTest, ABatchHasItsLabelsAndEdges) {
  const auto loader = Start({.num_threads = 1, .ahead = 1});
  EXPECT_THAT(loader->Seek(BatchSeq(0)), IsOk());
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<LoadedBatch> batch,
                            loader->Next(DeadlineIn(kLong)));
  const TaskView& task = batch->task;
  for (size_t i = 0; i < task.num_seeds; ++i) {
    EXPECT_EQ(batch->labels.data()[i], 1);
  }
  for (size_t i = 0; i < task.input_nodes.size(); ++i) {
    EXPECT_EQ(batch->nodes.data()[i], int64_t{task.input_nodes[i]});
  }
  const BlockView& last = task.hops[static_cast<size_t>(task.num_hops) - 1];
  ASSERT_GT(last.indices.size(), 0U);
  const int64_t* const sources = batch->edges.data();
  const int64_t* const destinations = sources + last.indices.size();
  for (uint32_t v = 0; v < last.num_destinations; ++v) {
    for (uint32_t e = last.indptr[v]; e < last.indptr[v + 1]; ++e) {
      EXPECT_EQ(sources[e], int64_t{last.indices[e]});
      EXPECT_EQ(destinations[e], int64_t{v});
    }
  }
}

TEST_F(BatchLoaderTest, SeedsMayBeTheUsersOwn) {
  const std::vector<int64_t> seeds = {999, 3, 500};
  absl::StatusOr<std::unique_ptr<BatchLoader>> loader =
      BatchLoader::Start(Open({.spec = {}, .seeds = seeds}), {});
  ASSERT_THAT(loader, IsOk());
  EXPECT_EQ(*(*loader)->Seek(BatchSeq(0)), 1U);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<LoadedBatch> batch,
                            (*loader)->Next(DeadlineIn(kLong)));
  const absl::Span<const uint32_t> drawn = batch->task.seeds();
  EXPECT_THAT(std::vector<int64_t>(drawn.begin(), drawn.end()),
              testing::UnorderedElementsAreArray(seeds));
}

TEST_F(BatchLoaderTest, WrongSeedsAreRefused) {
  const auto refusal = [this](std::vector<int64_t> seeds) {
    return JobBatches::Open({.spec = job_.spec(), .seeds = std::move(seeds)})
        .status();
  };
  EXPECT_THAT(refusal({1, 7, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("vertex 1 is there twice")));
  EXPECT_THAT(refusal({1, 1000}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("1000 is not a vertex of small")));
  EXPECT_THAT(refusal({-1}), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("-1 is not a vertex")));
  EXPECT_THAT(
      JobBatches::Open({.spec = job_.spec(), .split = "trian"}).status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("it is train, valid or test")));
}

TEST_F(BatchLoaderTest, WhatNeedsTheServiceIsRefused) {
  JobSpec spec = job_.spec();
  spec.training.parts = 2;
  EXPECT_THAT(JobBatches::Open({.spec = spec}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("training.parts: 2 needs the")));
}

TEST_F(BatchLoaderTest, RanksAreBelowTheWorldAndHaveSteps) {
  EXPECT_THAT(BatchLoader::Start(Open(), {.rank = 2, .world = 2}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("rank: 2 is not below world 2")));
  EXPECT_THAT(BatchLoader::Start(Open(), {.rank = 0, .world = 100}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("world: 100 ranks need as many batches")));
}

TEST_F(BatchLoaderTest, AnErrorOfAThreadComesWithItsBatchAndStays) {
  const auto loader = Start({.num_threads = 2, .ahead = 2});
  EXPECT_THAT(loader->Seek(BatchSeq(0)), IsOk());
  Take(*loader, {0});
  job_.DamageIndices();
  // What was made ahead is sound; what comes then is not.
  absl::Status status;
  for (int i = 0; i < 40 && status.ok(); ++i) {
    status = loader->Next(DeadlineIn(kLong)).status();
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("batch ")));
  EXPECT_EQ(loader->Next(DeadlineIn(kLong)).status(), status);
}

TEST_F(BatchLoaderTest, ADatasetThatChangedIsRefused) {
  const auto loader = Start({.num_threads = 1, .ahead = 1});
  EXPECT_THAT(loader->Seek(BatchSeq(0)), IsOk());
  std::ofstream(job_.dataset() / "names.txt") << "one\n";
  EXPECT_THAT(loader->Seek(BatchSeq(0)).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("make it again")));
}

TEST_F(BatchLoaderTest, EndsInTheMiddleOfItsWork) {
  for (int i = 0; i < 20; ++i) {
    const auto loader = Start({.num_threads = 4, .ahead = 8});
    EXPECT_THAT(loader->Seek(BatchSeq(0)), IsOk());
  }
}

}  // namespace
}  // namespace fgnn
