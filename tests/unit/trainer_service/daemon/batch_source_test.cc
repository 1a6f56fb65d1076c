#include "trainer_service/daemon/batch_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/daemon/small_world.h"
#include "trainer_service/backend/cpu/cpu_backend.h"
#include "trainer_service/backend/cpu/cpu_features.h"

namespace fgnn {
namespace {

constexpr char kSourceJobId[] = "job";
constexpr OwnerIndex kSourceTrainer{2};

// Steps of three batches: 0 .. 2, 3 .. 5, 6; five slots; the job's first
// weights are there.
class BatchSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    WriteSmallDataset(folder_ / "data");
    FGNN_ASSERT_OK_AND_ASSIGN(
        backend_, CpuBackend::OpenForJob(SmallJob(folder_ / "data"), 1));
    StartJob(SmallSegmentOptions(kSourceJobId));
  }

  void StartJob(const SegmentOptions& options) {
    FGNN_ASSERT_OK_AND_ASSIGN(segment_, Segment::Create(options));
    sampler_.emplace(segment_.get(), kSamplerOwner, 0);
    scheduler_queue_.emplace(segment_.get(), kNoOwner);
    scheduler_queue_->OpenForSampling(BatchSeq(14));
    GradientBoard board(segment_.get(), kSourceTrainer);
    std::optional<StepLease> lease = board.TryLease();
    ASSERT_TRUE(lease.has_value());
    FGNN_ASSERT_OK((*std::move(lease)).Publish());
    GradientBoard(segment_.get(), kNoOwner).OpenForTraining(StepNumber(6));
  }

  void Sample(int batches) {
    for (int i = 0; i < batches; ++i) {
      ASSERT_TRUE(SampleNext(&*sampler_, segment_->options().job_key));
    }
  }
  void SampleIntoOverflow() {
    FGNN_ASSERT_OK_AND_ASSIGN(std::optional<WriteSlot> slot,
                              sampler_->TryClaimForWriting());
    ASSERT_TRUE(slot.has_value());
    FGNN_ASSERT_OK(slot->SwitchToOverflow(DeadlineIn(std::chrono::seconds(9))));
    FGNN_ASSERT_OK(WriteMadeUpTask(slot->block(), segment_->options().job_key,
                                   slot->seq()));
    FGNN_ASSERT_OK((*std::move(slot)).Publish());
  }
  std::unique_ptr<BatchSource> Source(uint32_t ahead, uint32_t num_trainers) {
    return std::make_unique<BatchSource>(
        BatchSourceOptions{.owner = kSourceTrainer,
                           .ahead = ahead,
                           .limit = {.num_trainers = num_trainers}},
        backend_.get(), segment_.get());
  }
  static const CpuFeatures& Features(const ExtractedBatch& batch) {
    return static_cast<const CpuFeatures&>(*batch.features);
  }
  // Three batches of the open step.
  static std::vector<ExtractedBatch> TakeThree(BatchSource& source) {
    std::vector<ExtractedBatch> batches;
    const Deadline deadline = DeadlineIn(std::chrono::seconds(60));
    while (batches.size() < 3 && MonotonicClock::now() < deadline) {
      auto batch = source.Next();
      EXPECT_THAT(batch, IsOk());
      if (!batch.ok()) break;
      if (batch->has_value()) batches.push_back(**std::move(batch));
    }
    EXPECT_EQ(batches.size(), 3U);
    return batches;
  }
  // Until so many slots are claimed by trainers.
  void WaitUntilReading(uint32_t slots) {
    const Deadline deadline = DeadlineIn(std::chrono::seconds(60));
    while (scheduler_queue_->Counts().reading != slots) {
      ASSERT_LT(MonotonicClock::now(), deadline);
      std::this_thread::yield();
    }
  }

  TempFolder folder_;
  std::unique_ptr<Segment> segment_;
  std::unique_ptr<CpuBackend> backend_;
  std::optional<GlobalQueue> sampler_;
  std::optional<GlobalQueue> scheduler_queue_;
};

// As the store has them: tasks have as many edges as sources.
TEST_F(BatchSourceTest, FindsTheSameRowsAheadAndOnDemand) {
  Sample(3);
  const std::byte* const data = backend_->host().features().data();
  const uint64_t row_bytes = backend_->host().features().row_bytes();
  for (const uint32_t ahead : {0U, 1U, 3U}) {
    SCOPED_TRACE(ahead);
    const std::unique_ptr<BatchSource> source = Source(ahead, 1);
    for (const ExtractedBatch& batch : TakeThree(*source)) {
      EXPECT_EQ(batch.task.seq, batch.slot.seq());
      std::vector<const std::byte*> expected;
      for (const GlobalId node : batch.task.input_nodes) {
        expected.push_back(data + node * row_bytes);
      }
      EXPECT_THAT(Features(batch).stored().rows,
                  testing::ElementsAreArray(expected));
      EXPECT_EQ(Features(batch).stored().type, FeatureType::kFloat32);
      EXPECT_THAT(Features(batch).dense(), testing::IsEmpty());
    }
  }
}

// Of a model that changes its input.
TEST_F(BatchSourceTest, CopiesTheSameFeaturesAheadAndOnDemand) {
  JobSpec spec = SmallJob(folder_ / "data");
  spec.model.input_dropout = 0.5;
  FGNN_ASSERT_OK_AND_ASSIGN(backend_, CpuBackend::OpenForJob(spec, 1));
  Sample(3);
  for (const uint32_t ahead : {0U, 1U, 3U}) {
    SCOPED_TRACE(ahead);
    const std::unique_ptr<BatchSource> source = Source(ahead, 1);
    for (const ExtractedBatch& batch : TakeThree(*source)) {
      std::vector<float> expected(batch.task.input_nodes.size() * 6);
      FGNN_ASSERT_OK(backend_->host().features().CopyRows(
          batch.task.input_nodes, expected.data()));
      EXPECT_THAT(Features(batch).dense(), testing::ElementsAreArray(expected));
      EXPECT_THAT(Features(batch).stored().rows, testing::IsEmpty());
    }
  }
}

TEST_F(BatchSourceTest, CachesAsItsDeviceIsToAndGivesUpWhatIsMore) {
  constexpr uint64_t kKey = 5;
  std::vector<GlobalId> vertices(kSmallNodes);
  std::iota(vertices.begin(), vertices.end(), 0);
  FGNN_ASSERT_OK(RankOrder::Save(backend_->dataset(), kKey, vertices));
  SegmentOptions options = SmallSegmentOptions(kSourceJobId);
  options.num_devices = 2;
  StartJob(options);
  segment_->SetCachePlan(
      {.rank_order_key = kKey, .rows = 40, .standby_rows = 15});
  DeviceTable table(segment_.get(), kNoOwner);
  BatchSource source({.owner = kSourceTrainer, .device = 1, .limit = {}},
                     backend_.get(), segment_.get());
  const auto cached = [&] { return backend_->cache()->cache.capacity(); };
  const auto rows_at_work = [&] {
    EXPECT_THAT(source.Next(), IsOk());
    return cached();
  };
  const auto rows_at_rest = [&] {
    source.GiveUpCache();
    return cached();
  };
  EXPECT_EQ(rows_at_work(), 15U);
  table.SetPlan(1, DevicePlan::kTrain);  // In mid-epoch.
  table.SetCachedAs(0, DevicePlan::kTrain);
  EXPECT_EQ(rows_at_work(), 15U);
  table.SetCachedAs(1, DevicePlan::kTrain);
  EXPECT_EQ(rows_at_rest(), 15U);
  EXPECT_EQ(rows_at_work(), 40U);
  EXPECT_EQ(rows_at_rest(), 40U);
  table.SetCachedAs(1, DevicePlan::kSample);
  EXPECT_EQ(rows_at_rest(), 0U);
  EXPECT_EQ(rows_at_work(), 15U);
  table.SetCachedAs(1, DevicePlan::kTimeShare);
  EXPECT_EQ(rows_at_work(), 40U);
}

TEST_F(BatchSourceTest, WorksAheadIntoTheNextStepAndGivesBackWhatItKept) {
  Sample(5);
  {
    const std::unique_ptr<BatchSource> source = Source(5, 1);
    WaitUntilReading(5);
    // Only those of the open step are handed out.
    for (ExtractedBatch& batch : TakeThree(*source)) {
      EXPECT_LT(batch.slot.seq(), BatchSeq(3));
      EXPECT_TRUE(batch.was_ahead);
      FGNN_ASSERT_OK(std::move(batch.slot).Release());
    }
    FGNN_ASSERT_OK_AND_ASSIGN(const std::optional<ExtractedBatch> none,
                              source->Next());
    EXPECT_FALSE(none.has_value());
  }
  EXPECT_EQ(scheduler_queue_->Counts().reading, 0U);
  EXPECT_EQ(scheduler_queue_->Counts().ready, 2U);
}

TEST_F(BatchSourceTest, KeepsNoMoreThanItsShareOfAStep) {
  Sample(5);
  const std::unique_ptr<BatchSource> source = Source(5, 3);
  // One of each step.
  WaitUntilReading(2);
  GlobalQueue other(segment_.get(), OwnerIndex{3});
  std::vector<ReadSlot> others;
  while (true) {
    FGNN_ASSERT_OK_AND_ASSIGN(
        std::optional<ReadSlot> slot,
        other.TryClaimForReading(BatchSeq(0), BatchSeq(6)));
    if (!slot.has_value()) break;
    others.push_back(*std::move(slot));
  }
  EXPECT_EQ(others.size(), 3U);
}

TEST_F(BatchSourceTest, KeepsWhatIsNeededLastWhereWeightsMayBeOld) {
  SegmentOptions options = SmallSegmentOptions(kSourceJobId);
  options.num_slots = 7;
  options.staleness = 1;  // Batches 0 to 5 are open.
  StartJob(options);
  Sample(7);
  const std::unique_ptr<BatchSource> source = Source(1, 3);
  WaitUntilReading(1);
  GlobalQueue other(segment_.get(), OwnerIndex{3});
  std::vector<ReadSlot> others;
  for (BatchSeq seq(0); seq < BatchSeq(6); ++seq) {
    FGNN_ASSERT_OK_AND_ASSIGN(
        std::optional<ReadSlot> slot,
        other.TryClaimForReading(BatchSeq(0), BatchSeq(7)));
    ASSERT_TRUE(slot.has_value());
    EXPECT_EQ(slot->seq(), seq);
    others.push_back(*std::move(slot));
  }
}

TEST_F(BatchSourceTest, TakesMoreThanItsShareWhenItHasNothingElseToDo) {
  Sample(3);
  const std::unique_ptr<BatchSource> source = Source(1, 3);
  TakeThree(*source);
}

// The block could be the one that a batch of the open step waits for.
TEST_F(BatchSourceTest, KeepsNoOverflowBlockUntilItsStepIsOpen) {
  Sample(3);
  SampleIntoOverflow();
  Sample(1);
  const std::unique_ptr<BatchSource> source = Source(5, 1);
  WaitUntilReading(3);
  const std::vector<ExtractedBatch> batches = TakeThree(*source);
  // It has looked at batch 3 by now, or does so at once, and lets go of it.
  const Deadline deadline = DeadlineIn(std::chrono::seconds(60));
  while (scheduler_queue_->Counts().ready != 2) {
    ASSERT_LT(MonotonicClock::now(), deadline);
    std::this_thread::yield();
  }
}

TEST_F(BatchSourceTest, SaysWhenTheJobWasStopped) {
  const std::unique_ptr<BatchSource> source = Source(1, 1);
  scheduler_queue_->Stop();
  absl::Status status;
  const Deadline deadline = DeadlineIn(std::chrono::seconds(60));
  while (status.ok() && MonotonicClock::now() < deadline) {
    status = source->Next().status();
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace fgnn
