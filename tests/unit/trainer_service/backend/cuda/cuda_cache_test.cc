// The cache on the device follows plans, beside a thread that extracts.
#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "shared/base/philox.h"
#include "shared/graph/book/partition_book.h"
#include "shared/graph/host_rows.h"
#include "tests/unit/trainer_service/backend/cuda/cuda_backend_fixture.h"
#include "trainer_service/nn/row_shuffle.h"

namespace fgnn {
namespace {

constexpr size_t kRowBytes = kSmallColumns * sizeof(float);

class CudaCacheTest : public CudaBackendTest {
 protected:
  CudaCacheTest() {
    Open();
    empty_bytes_ = AllocatedBytes();
  }
  size_t CacheBytes() const { return AllocatedBytes() - empty_bytes_; }

  size_t empty_bytes_ = 0;
};

TEST_F(CudaCacheTest, GrowsAndShrinksWithThePlan) {
  EXPECT_TRUE(cuda_->IsCachedAs({}));
  for (const uint64_t rows : {10, 120, 60, 0}) {
    SCOPED_TRACE(rows);
    EXPECT_FALSE(cuda_->IsCachedAs(Plan(rows)));
    // There is no room for two tables.
    SetDevice(empty_bytes_ + 120 * kRowBytes);
    FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(rows)));
    EXPECT_TRUE(cuda_->IsCachedAs(Plan(rows)));
    EXPECT_EQ(CacheBytes(), rows * kRowBytes);
    const uint64_t copies = simt::GetFakeCounts().copies;
    FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(rows)));
    EXPECT_EQ(simt::GetFakeCounts().copies, copies);
    EXPECT_FALSE(cuda_->SharedTable().valid());
  }
}

TEST_F(CudaCacheTest, HasATableOfItsOwnForASharedOne) {
  TrainerCache plan = Plan(50);
  plan.table = 7;
  FGNN_ASSERT_OK(cuda_->CacheAsPlanned(plan));
  EXPECT_TRUE(cuda_->IsCachedAs(plan));
  EXPECT_EQ(CacheBytes(), 50 * kRowBytes);
}

TEST_F(CudaCacheTest, GivesUpWhatIsMoreThanPlanned) {
  FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(50)));
  cuda_->GiveUpMoreThan(Plan(50));
  EXPECT_EQ(CacheBytes(), 50 * kRowBytes);
  cuda_->GiveUpMoreThan(Plan(49));
  EXPECT_EQ(CacheBytes(), 0U);
  EXPECT_FALSE(cuda_->IsCachedAs(Plan(50)));
  EXPECT_FALSE(cuda_->IsCachedAs(Plan(49)));
  FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(49)));
  EXPECT_EQ(CacheBytes(), 49 * kRowBytes);
}

TEST_F(CudaCacheTest, CachesNothingWithoutTheRankOrder) {
  TrainerCache plan = Plan(50);
  plan.rank_order_key = kKey + 1;
  FGNN_ASSERT_OK(cuda_->CacheAsPlanned(plan));
  EXPECT_TRUE(cuda_->IsCachedAs(plan));
  EXPECT_EQ(CacheBytes(), 0U);
}

// Of two homes, each has the hottest vertices of its parts alone.
TEST_F(CudaCacheTest, CachesTheVerticesOfItsHomePartsAlone) {
  const Dataset& dataset = cuda_->dataset();
  std::vector<uint8_t> fine_parts(kSmallNodes);
  for (size_t v = 0; v < fine_parts.size(); ++v) {
    fine_parts[v] = static_cast<uint8_t>(Mix64(v) % kFineParts);
  }
  FGNN_ASSERT_OK(PartitionBook::Save(dataset, fine_parts));
  FGNN_ASSERT_OK_AND_ASSIGN(const PartitionBook book,
                            PartitionBook::Open(dataset));
  const auto home_of = [&](uint32_t v) {
    return OwnerOfPart(fine_parts[v], 4) % 2;
  };
  constexpr uint64_t kRows = 25;
  for (const uint32_t home : {0U, 1U}) {
    SCOPED_TRACE(home);
    Open();
    cuda_->ShareTables({.open = nullptr, .home = [&] {
                          return HomeParts{book.key(), 4, 2, home};
                        }});
    FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(kRows)));
    EXPECT_EQ(CacheBytes(), kRows * kRowBytes);
    std::set<uint32_t> cached;
    for (const GlobalId v : order_->vertices()) {
      if (cached.size() < kRows && home_of(v) == home) cached.insert(v);
    }
    const std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
    for (uint64_t seq = 0; seq < 4; ++seq) {
      const auto task = MakeTask(seq);
      FGNN_ASSERT_OK_AND_ASSIGN(const ExtractedRows rows,
                                Extract(task->view, features.get()));
      EXPECT_EQ(
          rows.num_cached,
          static_cast<uint64_t>(std::count_if(
              task->view.input_nodes.begin(), task->view.input_nodes.end(),
              [&](uint32_t v) { return cached.contains(v); })));
      EXPECT_TRUE(RowsOf(*features) == Expected(task->view));
    }
  }
  Open();
  HomeParts home = {book.key() + 1, 4, 2, 0};
  cuda_->ShareTables({.open = nullptr, .home = [&] { return home; }});
  FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(kRows)));
  EXPECT_EQ(CacheBytes(), 0U) << "it is another book";
  // Another device trains, or none but this one.
  for (const uint32_t homes : {1, 2}) {
    home = {book.key(), 4, homes, 0};
    EXPECT_FALSE(cuda_->IsCachedAs(Plan(kRows)));
    FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(kRows)));
    EXPECT_TRUE(cuda_->IsCachedAs(Plan(kRows)));
    EXPECT_EQ(CacheBytes(), kRows * kRowBytes);
  }
}

// The host's memory for the search was planned.
TEST_F(CudaCacheTest, LooksForVerticesOfAHomeOnlyAsFarAsItWasPlanned) {
  const Dataset& dataset = cuda_->dataset();
  std::vector<uint8_t> fine_parts(kSmallNodes, 0);
  // The last ranks alone are of home 1.
  constexpr size_t kLast = 10;
  for (const GlobalId v : order_->vertices().last(kLast)) {
    fine_parts[v] = kFineParts - 1;
  }
  FGNN_ASSERT_OK(PartitionBook::Save(dataset, fine_parts));
  FGNN_ASSERT_OK_AND_ASSIGN(const PartitionBook book,
                            PartitionBook::Open(dataset));
  for (const bool far : {false, true}) {
    SCOPED_TRACE(far);
    Open();
    cuda_->ShareTables({.open = nullptr, .home = [&] {
                          return HomeParts{book.key(), 2, 2, 1};
                        }});
    const uint64_t rows = far ? kSmallNodes / 4 : 5;
    FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(rows)));
    EXPECT_EQ(CacheBytes(), far ? kLast * kRowBytes : 0);
  }
}

// The thread ahead may have to free the table meanwhile.
TEST_F(CudaCacheTest, APartThatWaitsForOthersReadsNoTable) {
  class FreesTheTable final : public RowShuffle {
   public:
    explicit FreesTheTable(CudaBackend* backend) : backend_(*backend) {}
    absl::Status Forward(uint32_t, const PartRows&, ThreadTeam&) override {
      return absl::UnimplementedError("the rows are on a device");
    }
    absl::Status Backward(uint32_t, const PartRows&, ThreadTeam&) override {
      return absl::UnimplementedError("the rows are on a device");
    }
    absl::Status Exchange(uint32_t, bool, const PackedExchange&) override {
      ++calls;
      return backend_.CacheAsPlanned({});
    }

    int calls = 0;

   private:
    CudaBackend& backend_;
  };
  const auto task = MakeTask(1);
  const std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
  FGNN_ASSERT_OK(Extract(task->view, features.get()).status());
  const std::vector<float> expected = CudaGradient(task->view, features.get());
  // It has nothing to exchange.
  const std::vector<uint32_t> counts(4);
  TaskView part = task->view;
  part.num_parts = 2;
  part.batch_seeds = part.num_seeds;
  for (TaskSplit::Level& level : part.split.levels) level.counts = counts;
  FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(kSmallNodes)));
  FGNN_ASSERT_OK(Extract(part, features.get()).status());
  ASSERT_NE(ViewOf(*features).placed.places, nullptr);
  FreesTheTable shuffle(cuda_.get());
  std::vector<float> gradient;
  FGNN_ASSERT_OK(
      Gradient(*cuda_, part, features.get(), &gradient, &shuffle).status());
  EXPECT_EQ(shuffle.calls, 2);
  EXPECT_EQ(gradient, expected);
}

TEST_F(CudaCacheTest, WaitsUntilNobodyReadsATableBeforeItIsFreed) {
  const auto count = std::make_shared<ByteCount>();
  const CudaStream stream = CudaStream::Make().value();
  ThreadTeam team(1);
  PlannedDeviceCache cache(&cpu_->host().features(), count);
  FGNN_ASSERT_OK(cache.Follow(Plan(50), cpu_->dataset(), stream, team));
  std::atomic<bool> followed = false;
  std::optional<PlannedDeviceCache::Reader> reader(&cache);
  const uint64_t tasks = team.tasks_begun();
  std::thread follower([&] {
    EXPECT_THAT(cache.Follow(Plan(60), cpu_->dataset(), stream, team), IsOk());
    followed = true;
  });
  // It counts a task every 10 ms while it waits.
  const Deadline deadline = DeadlineIn(std::chrono::seconds(60));
  while (team.tasks_begun() < tasks + 3 && !followed &&
         MonotonicClock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(followed);
  EXPECT_EQ(reader->cached().cache.capacity(), 50U);
  EXPECT_EQ(count->device, 50 * kRowBytes);
  reader.reset();
  follower.join();
  EXPECT_EQ(count->device, 60 * kRowBytes);
  EXPECT_TRUE(cache.IsFollowed(Plan(60)));
}

// Two batches may find no memory at once: one of them frees the table.
TEST_F(CudaCacheTest, MakesRoomForTheBatchesOfBothThreadsOnce) {
  const auto count = std::make_shared<ByteCount>();
  const CudaStream stream = CudaStream::Make().value();
  ThreadTeam team(1);
  ThreadTeam team_ahead(1);
  PlannedDeviceCache cache(&cpu_->host().features(), count);
  EXPECT_FALSE(cache.MakeRoom(cache.table(), team)) << "nothing is cached";
  FGNN_ASSERT_OK(cache.Follow(Plan(50), cpu_->dataset(), stream, team));
  const uint64_t table = cache.table();
  std::optional<PlannedDeviceCache::Reader> reader(&cache);
  std::thread ahead([&] { EXPECT_TRUE(cache.MakeRoom(table, team_ahead)); });
  const Deadline deadline = DeadlineIn(std::chrono::seconds(60));
  while (team_ahead.tasks_begun() == 0 && MonotonicClock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_EQ(count->device, 50 * kRowBytes) << "it is read";
  reader.reset();
  EXPECT_TRUE(cache.MakeRoom(table, team));
  EXPECT_EQ(count->device, 0U) << "whichever thread freed it";
  ahead.join();
  FGNN_ASSERT_OK(cache.Follow(Plan(50), cpu_->dataset(), stream, team));
  EXPECT_EQ(count->device, 25 * kRowBytes);
  // A batch that began beside the first table is worth another try.
  EXPECT_TRUE(cache.MakeRoom(table, team_ahead));
  EXPECT_EQ(count->device, 25 * kRowBytes);
  EXPECT_FALSE(cache.MakeRoom(cache.table(), team)) << "it is halved";
  EXPECT_EQ(count->device, 25 * kRowBytes);
}

// The loop loads a smaller table while the thread that works ahead has a batch
// that found no memory beside the larger one.
TEST_F(CudaCacheTest, MakesNoMoreRoomOnceAnotherTableIsLoaded) {
  const auto count = std::make_shared<ByteCount>();
  const CudaStream stream = CudaStream::Make().value();
  ThreadTeam team(1);
  ThreadTeam team_ahead(1);
  PlannedDeviceCache cache(&cpu_->host().features(), count);
  FGNN_ASSERT_OK(cache.Follow(Plan(50), cpu_->dataset(), stream, team));
  const uint64_t table = cache.table();
  std::optional<PlannedDeviceCache::Reader> reader(&cache);
  const uint64_t tasks = team.tasks_begun();
  std::thread loop([&] {
    EXPECT_THAT(cache.Follow(Plan(20), cpu_->dataset(), stream, team), IsOk());
  });
  const Deadline deadline = DeadlineIn(std::chrono::seconds(60));
  while (team.tasks_begun() == tasks && MonotonicClock::now() < deadline) {
    std::this_thread::yield();
  }
  std::atomic<bool> answered = false;
  std::thread ahead([&] {
    EXPECT_TRUE(cache.MakeRoom(table, team_ahead));
    answered = true;
  });
  while (team_ahead.tasks_begun() < 3 && !answered &&
         MonotonicClock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(answered);
  reader.reset();
  ahead.join();
  EXPECT_EQ(count->device, 20 * kRowBytes);
  loop.join();
  // The smaller one is not halved yet.
  EXPECT_TRUE(cache.MakeRoom(cache.table(), team_ahead));
  EXPECT_EQ(count->device, 0U);
}

// A table is freed while nobody reads it, also where the other thread extracts.
TEST_F(CudaCacheTest, FollowsPlansBesideAThreadThatExtracts) {
  spec_.model.kind = "gat";  // Its rows are copies, which outlive the table.
  Open();
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> extracted = 0;
  std::thread ahead([&] {
    const std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
    for (uint64_t seq = 0; !stop; seq = (seq + 1) % 8) {
      const auto task = MakeTask(seq);
      const auto rows =
          Extract(task->view, features.get(), TrainerThread::kAhead);
      EXPECT_THAT(rows, IsOk());
      if (!rows.ok()) return;
      EXPECT_TRUE(RowsOf(*features) == Expected(task->view));
      ++extracted;
    }
  });
  for (int turn = 0; turn < 12; ++turn) {
    const TrainerCache plan = Plan(static_cast<uint64_t>(20 + 40 * (turn % 3)));
    EXPECT_THAT(cuda_->CacheAsPlanned(plan), IsOk());
    EXPECT_TRUE(cuda_->IsCachedAs(plan));
    const uint64_t seen = extracted;
    const Deadline deadline = DeadlineIn(std::chrono::seconds(60));
    while (extracted == seen && MonotonicClock::now() < deadline) {
      std::this_thread::yield();
    }
    if (turn % 4 == 3) cuda_->GiveUpMoreThan({});
  }
  stop = true;
  ahead.join();
  EXPECT_GE(extracted, 12U);
}

}  // namespace
}  // namespace fgnn
