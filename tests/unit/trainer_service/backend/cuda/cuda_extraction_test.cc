// Rows of features on the device: those of the CPU in every bit.
#include <algorithm>

#include "tests/unit/trainer_service/backend/cuda/cuda_backend_fixture.h"
#include "trainer_service/compute/widen.h"

namespace fgnn {
namespace {

class CudaExtractionTest : public CudaBackendTest {
 protected:
  // Compares rows and hits of a few tasks, of each size of the cache.
  void ExpectRowsOfTheCpu() {
    const std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
    const std::unique_ptr<TaskFeatures> on_cpu = cpu_->NewFeatures();
    for (const uint64_t rows : {0, 1, 40, 120}) {
      SCOPED_TRACE(rows);
      FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(rows)));
      FGNN_ASSERT_OK(cpu_->CacheAsPlanned(Plan(rows)));
      for (uint64_t seq = 0; seq < 8; ++seq) {
        const auto task = MakeTask(seq);
        const auto thread =
            seq % 2 == 0 ? TrainerThread::kLoop : TrainerThread::kAhead;
        FGNN_ASSERT_OK_AND_ASSIGN(
            const ExtractedRows expected,
            cpu_->Extract(task->view, nullptr, thread, on_cpu.get()));
        FGNN_ASSERT_OK_AND_ASSIGN(const ExtractedRows found,
                                  Extract(task->view, features.get(), thread));
        EXPECT_EQ(found.num_cached, expected.num_cached);
        EXPECT_EQ(found.num_matched, 0U);
        EXPECT_TRUE(RowsOf(*features) == Expected(task->view));
      }
    }
  }
};

TEST_F(CudaExtractionTest, HasTheRowsAndHitsOfTheCpu) {
  for (const uint64_t seed : {1, 2, 3, 4, 5}) {
    SetDevice(kMemory, seed);
    Open();
    ExpectRowsOfTheCpu();
  }
}

TEST_F(CudaExtractionTest, StagesRowsOfADisk) {
  spec_.features.store = "disk";
  Open();
  ASSERT_EQ(cpu_->host().features().data(), nullptr);
  spec_.features.store = "memory";
  FGNN_ASSERT_OK_AND_ASSIGN(cpu_, CpuBackend::OpenForJob(spec_, 2));
  ExpectRowsOfTheCpu();
}

TEST_F(CudaExtractionTest, StagesRowsThatCannotBeRegistered) {
  // The third call of CUDA registers the features.
  simt::FailAfter(2, cudaErrorNotSupported, false);
  Open();
  const std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
  const auto task = MakeTask(0);
  const uint64_t before = simt::GetFakeCounts().copied_bytes;
  FGNN_ASSERT_OK(Extract(task->view, features.get()).status());
  EXPECT_GT(simt::GetFakeCounts().copied_bytes - before,
            task->view.input_nodes.size() * kSmallColumns * sizeof(float));
  ExpectRowsOfTheCpu();
}

TEST_F(CudaExtractionTest, RoundsRowsForAModelInBfloat16) {
  spec_.training.precision = "bf16";
  Open();
  FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(40)));
  const std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
  const auto task = MakeTask(3);
  FGNN_ASSERT_OK(Extract(task->view, features.get()).status());
  const std::vector<std::byte> rows = Expected(task->view);
  std::vector<std::byte> rounded(rows.size() / 2);
  RoundToBfloat16s(reinterpret_cast<const float*>(rows.data()),
                   rounded.size() / sizeof(Bfloat16),
                   reinterpret_cast<Bfloat16*>(rounded.data()));
  EXPECT_TRUE(RowsOf(*features) == rounded);
}

TEST_F(CudaExtractionTest, TakesRanksOfItsOwnOrderAlone) {
  Open();
  FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(120)));
  const std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
  auto task = MakeTask(1);
  FGNN_ASSERT_OK_AND_ASSIGN(ExtractedRows rows,
                            Extract(task->view, features.get()));
  EXPECT_EQ(rows.num_cached, task->view.input_nodes.size());
  ++task->view.rank_order_version;
  FGNN_ASSERT_OK_AND_ASSIGN(rows, Extract(task->view, features.get()));
  EXPECT_EQ(rows.num_cached, 0U);
  EXPECT_TRUE(RowsOf(*features) == Expected(task->view));
  task = MakeTask(1, nullptr);
  FGNN_ASSERT_OK_AND_ASSIGN(rows, Extract(task->view, features.get()));
  EXPECT_EQ(rows.num_cached, 0U);
  EXPECT_TRUE(RowsOf(*features) == Expected(task->view));
}

TEST_F(CudaExtractionTest, ExtractsATaskWithoutNodes) {
  Open();
  FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(40)));
  const std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
  const auto task = NewTask();
  FGNN_ASSERT_OK(WriteTaskWithoutSeeds(task->block, kJobKey, BatchSeq(0)));
  task->view = ReadTask(task->block, kJobKey).value();
  FGNN_ASSERT_OK_AND_ASSIGN(const ExtractedRows rows,
                            Extract(task->view, features.get()));
  EXPECT_EQ(rows.num_cached, 0U);
}

TEST_F(CudaExtractionTest, RefusesNodesThatHaveNoFeatures) {
  Open();
  FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(40)));
  const std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
  const auto task = MakeTask(0);
  TaskView wrong = task->view;
  std::vector<uint32_t> nodes(wrong.input_nodes.begin(),
                              wrong.input_nodes.end());
  nodes[3] = kSmallNodes;
  wrong.input_nodes = nodes;
  EXPECT_THAT(Extract(wrong, features.get()), InvalidArgument("global id 120"));
  wrong = task->view;
  wrong.hot_rank = wrong.hot_rank.subspan(1);
  EXPECT_THAT(Extract(wrong, features.get()), InvalidArgument("hot ranks"));
  FGNN_ASSERT_OK(Extract(task->view, features.get()).status());
  EXPECT_TRUE(RowsOf(*features) == Expected(task->view));
}

// A store of 1 GiB, where a batch's misses are put in order, is too large for a
// test: a lane is told to order all of them.
TEST_F(CudaExtractionTest, ReadsMissesInTheOrderOfTheStore) {
  Open();
  const FeatureStore& store = cpu_->host().features();
  const auto count = std::make_shared<ByteCount>();
  for (const bool stages : {false, true}) {
    // The back end's store is another mapping of the file.
    const MissRows misses =
        stages ? MissRows::Stage(&store) : MissRows::Register(&store);
    ASSERT_EQ(misses.on_device() == nullptr, stages);
    FGNN_ASSERT_OK_AND_ASSIGN(
        const std::unique_ptr<ExtractionLane> lane,
        ExtractionLane::Make(&misses, 4, /*least_ordered=*/1, count));
    ThreadTeam team(1);
    FGNN_ASSERT_OK_AND_ASSIGN(
        DeviceCache table,
        DeviceCache::Load(store, order_->vertices().subspan(0, 40),
                          lane->stream(), team));
    const LoadedDeviceCache cached = {.plan = Plan(40),
                                      .cache = std::move(table),
                                      .rank_order_version = order_->version()};
    CudaFeatures features(kSmallColumns, FeatureType::kFloat32, count);
    for (uint64_t seq = 0; seq < 4; ++seq) {
      const auto task = MakeTask(seq);
      const uint64_t launches = simt::GetFakeCounts().launches;
      FGNN_ASSERT_OK_AND_ASSIGN(
          const ExtractedRows rows,
          features.Extract(task->view, {.store = &store, .cached = &cached},
                           *lane, team));
      // Two kernels order, one gathers.
      EXPECT_EQ(simt::GetFakeCounts().launches - launches, stages ? 1U : 3U);
      EXPECT_EQ(rows.num_cached,
                static_cast<uint64_t>(std::count_if(
                    task->view.hot_rank.begin(), task->view.hot_rank.end(),
                    [](uint32_t rank) { return rank < 40; })));
      EXPECT_TRUE(RowsOf(features) == Expected(task->view));
    }
  }
  EXPECT_EQ(count->device, 0U);
  EXPECT_EQ(count->pinned, 0U);
}

TEST_F(CudaExtractionTest, WaitsAndCopiesAFixedNumberOfTimes) {
  Open();
  FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(40)));
  const std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
  for (uint64_t turn = 0; turn < 8; ++turn) {
    const auto task = MakeTask(turn % 4);
    const uint64_t progress = cuda_->progress(TrainerThread::kLoop);
    const simt::FakeCounts before = simt::GetFakeCounts();
    FGNN_ASSERT_OK(Extract(task->view, features.get()).status());
    const simt::FakeCounts after = simt::GetFakeCounts();
    EXPECT_GT(cuda_->progress(TrainerThread::kLoop), progress);
    EXPECT_EQ(after.launches - before.launches, 1U);
    EXPECT_EQ(after.copies - before.copies, 2U);  // The task; the hits back.
    // For the end; and for that of the object's task before, which is past.
    EXPECT_LE(after.waits - before.waits, 2U);
    if (turn >= 4) {  // After the largest batch.
      EXPECT_EQ(after.allocations - before.allocations, 0U);
    }
  }
}

// Other parts of the batch send the other rows.
TEST_F(CudaExtractionTest, LoadsTheOwnRowsOfAPartThatSharesInputs) {
  Open();
  FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(40)));
  const auto task = MakeTask(1);
  const std::vector<uint32_t> counts(4);
  TaskView part = task->view;
  part.num_parts = 2;
  part.shares_inputs = true;
  for (TaskSplit::Level& level : part.split.levels) level.counts = counts;
  const size_t all = part.input_nodes.size();
  part.hops[1].num_remote_sources = static_cast<uint32_t>(all / 3);
  const size_t own = part.num_loaded_nodes();
  ASSERT_LT(own, all);
  const std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
  FGNN_ASSERT_OK_AND_ASSIGN(const ExtractedRows rows,
                            Extract(part, features.get()));
  EXPECT_EQ(rows.num_cached,
            static_cast<uint64_t>(
                std::count_if(part.hot_rank.begin(),
                              part.hot_rank.begin() + static_cast<int64_t>(own),
                              [](uint32_t rank) { return rank < 40; })));
  // They are copied, also those of the table: rows to send are taken there.
  EXPECT_EQ(ViewOf(*features).placed.places, nullptr);
  EXPECT_EQ(ViewOf(*features).num_rows, all);
  std::vector<std::byte> loaded = RowsOf(*features);
  std::vector<std::byte> expected = Expected(part);
  loaded.resize(own * kSmallColumns * sizeof(float));
  expected.resize(loaded.size());
  EXPECT_TRUE(loaded == expected);
}

TEST_F(CudaExtractionTest, CountsItsMemory) {
  Open();
  FGNN_ASSERT_OK(cuda_->CacheAsPlanned(Plan(40)));
  FGNN_ASSERT_OK_AND_ASSIGN(PlacedBytes before, cuda_->BytesInUse());
  EXPECT_EQ(before.device, AllocatedBytes());
  {
    std::unique_ptr<TaskFeatures> features = cuda_->NewFeatures();
    const auto task = MakeTask(3);
    FGNN_ASSERT_OK(Extract(task->view, features.get()).status());
    EXPECT_EQ(features->match_bytes(), 0U);
    FGNN_ASSERT_OK_AND_ASSIGN(PlacedBytes now, cuda_->BytesInUse());
    EXPECT_EQ(now.device, AllocatedBytes());
    // It counts all rows, as of a batch that has none in the table.
    const PlacedBytes bytes = cuda_->BytesOfFeatures(task->view);
    EXPECT_GT(bytes.device, now.device - before.device);
    EXPECT_GT(bytes.host, 0U);
    features->Reset();  // The memory is for the next task.
    EXPECT_EQ(cuda_->BytesInUse()->device, now.device);
  }
  EXPECT_EQ(cuda_->BytesInUse()->device, before.device);
  cuda_->GiveUpMoreThan({});
  EXPECT_EQ(cuda_->BytesInUse()->device,
            before.device - 40 * kSmallColumns * sizeof(float));
}

}  // namespace
}  // namespace fgnn
