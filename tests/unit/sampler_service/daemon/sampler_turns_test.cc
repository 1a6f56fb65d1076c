// A sampler of a device that takes turns; the test is the device's trainer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "sampler_service/daemon/attached_job.h"
#include "shared/base/status.h"
#include "shared/minibatch/task.h"
#include "shared/queue/device_table.h"
#include "shared/queue/gradient_board.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/sampler_service/daemon/small_job.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kTurnsPatience{60};
constexpr OwnerIndex kSampler{1};
constexpr OwnerIndex kTrainer{9};

class SamplerTurnsTest : public testing::Test {
 protected:
  // The sampler of the first of `num_devices` devices.
  absl::StatusOr<std::unique_ptr<AttachedJob>> Start(SmallJob::Slots slots,
                                                     uint32_t num_devices,
                                                     DevicePlan plan,
                                                     uint32_t device = 0) {
    segment_ = job_.MakeSegment(slots, /*num_slots=*/4, num_devices);
    DeviceTable(segment_.get(), kNoOwner).SetPlan(0, plan);
    AttachedJobOptions options;
    options.job_id = job_.job_id();
    options.owner = kSampler;
    options.overflow_block = 0;
    options.num_threads = 3;
    options.device = device;
    options.on_failure = [this](const absl::Status&) { failed_.Notify(); };
    FGNN_ASSIGN_OR_RETURN(
        JobSampling sampling,
        OpenJobSampling(job_.spec(), {.job_key = job_.job_key()}));
    std::unique_ptr<Segment> mapped = job_.Attach(*segment_);
    mapped_ = mapped.get();
    return AttachedJob::Start(std::move(options), std::move(sampling),
                              std::move(mapped));
  }

  // Every thread has looked for work at least once meanwhile.
  static void WaitForThreeTurns(const AttachedJob& sampler) {
    const uint64_t before = sampler.progress();
    const Deadline deadline = DeadlineIn(kTurnsPatience);
    while (sampler.progress() < before + 3) {
      ASSERT_LT(MonotonicClock::now(), deadline);
      std::this_thread::yield();
    }
  }

  // Trains a batch, or makes a step, without looking at what was sampled.
  void TrainNext(GlobalQueue& queue, GradientBoard& board,
                 std::vector<uint32_t>* digests) {
    EXPECT_EQ(queue.Counts().writing, 0U) << "both work on the device";
    if (std::optional<StepLease> lease = board.TryLease()) {
      EXPECT_THAT((*std::move(lease)).Publish(), IsOk());
      return;
    }
    const std::optional<OpenSteps> open = board.FindOpenSteps();
    if (!open.has_value()) return;
    FGNN_ASSERT_OK_AND_ASSIGN(
        std::optional<ReadSlot> slot,
        queue.TryClaimForReading(BatchSeq(0), open->last_batch));
    if (!slot.has_value()) return;
    FGNN_ASSERT_OK_AND_ASSIGN(const TaskView task,
                              ReadTask(slot->block(), job_.job_key()));
    EXPECT_EQ(task.seq, BatchSeq(digests->size()));
    digests->push_back(task.digest);
    FGNN_ASSERT_OK(board.MarkDone({task.seq}, {}));
    FGNN_ASSERT_OK((*std::move(slot)).Release());
  }

  // The whole job, whenever the device is to train.
  std::vector<uint32_t> TrainAll() {
    // Through the sampler's mapping: ThreadSanitizer knows addresses, not
    // pages.
    GlobalQueue queue(mapped_, kTrainer);
    GradientBoard board(mapped_, kTrainer);
    DeviceTable table(mapped_, kTrainer);
    const uint64_t end = job_.num_batches();  // Of one batch are the steps.
    queue.OpenForSampling(BatchSeq(end));
    board.OpenForTraining(StepNumber(end));
    std::vector<uint32_t> digests;
    const Deadline deadline = DeadlineIn(kTurnsPatience);
    while (board.version().value_or(0) < end) {
      if (MonotonicClock::now() >= deadline) {
        ADD_FAILURE() << "the device does not train";
        break;
      }
      const uint32_t seen = board.changes();
      SwitchSnapshot snapshot = table.Snapshot(0);
      if (NextWork(snapshot) != DeviceWork::kTrain ||
          !table.TryTakeSlice(0, DeviceWork::kTrain)) {
        EXPECT_THAT(board.WaitForChange(seen, deadline), IsOk());
        continue;
      }
      while (NextWork(snapshot) == DeviceWork::kTrain) {
        TrainNext(queue, board, &digests);
        snapshot = table.Snapshot(0);
        snapshot.last = DeviceWork::kTrain;
      }
      table.EndSlice(0, DeviceWork::kTrain);
    }
    return digests;
  }

  SmallJob job_;
  Notification failed_;
  std::unique_ptr<Segment> segment_;
  Segment* mapped_ = nullptr;  // The sampler's.
};

TEST_F(SamplerTurnsTest, MakesEveryBatchWhileItsDeviceDoesNotTrain) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      auto sampler, Start(SmallJob::Slots::kRoomy, 1, DevicePlan::kSample));
  EXPECT_EQ(TrainAll(), job_.digests());
  EXPECT_EQ(sampler->batches(), job_.num_batches());
  const DeviceTable table(segment_.get(), kNoOwner);
  EXPECT_GT(table.times(0).sample, 0);
  sampler.reset();
  EXPECT_EQ(table.working(0), DeviceWork::kNothing);
}

// Its overflow block is in use until this very device has trained.
TEST_F(SamplerTurnsTest, LetsItsDeviceTrainWhatItsOverflowBlockHolds) {
  for (const DevicePlan plan : {DevicePlan::kSample, DevicePlan::kTimeShare}) {
    FGNN_ASSERT_OK_AND_ASSIGN(const auto sampler,
                              Start(SmallJob::Slots::kTight, 1, plan));
    EXPECT_EQ(TrainAll(), job_.digests());
  }
}

TEST_F(SamplerTurnsTest, SamplesNothingOnADeviceThatIsPlannedToTrain) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto sampler, Start(SmallJob::Slots::kRoomy,
                                                      2, DevicePlan::kTrain));
  GlobalQueue queue(segment_.get(), kTrainer);
  DeviceTable table(segment_.get(), kNoOwner);
  queue.OpenForSampling(BatchSeq(job_.num_batches()));
  WaitForThreeTurns(*sampler);
  EXPECT_EQ(queue.Counts().free, 4U);
  table.SetPlan(0, DevicePlan::kSample);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto slot,
                            queue.ClaimForReading(BatchSeq(3), BatchSeq(4),
                                                  DeadlineIn(kTurnsPatience)));
  EXPECT_TRUE(slot.has_value());
}

TEST_F(SamplerTurnsTest, SamplesNothingWhileItsDeviceTrains) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto sampler, Start(SmallJob::Slots::kRoomy,
                                                      1, DevicePlan::kSample));
  GlobalQueue queue(segment_.get(), kTrainer);
  DeviceTable table(segment_.get(), kTrainer);
  ASSERT_TRUE(table.TryTakeSlice(0, DeviceWork::kTrain));
  queue.OpenForSampling(BatchSeq(job_.num_batches()));
  WaitForThreeTurns(*sampler);
  EXPECT_EQ(queue.Counts().free, 4U);
  table.EndSlice(0, DeviceWork::kNothing);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto slot,
                            queue.ClaimForReading(BatchSeq(3), BatchSeq(4),
                                                  DeadlineIn(kTurnsPatience)));
  EXPECT_TRUE(slot.has_value());
}

TEST_F(SamplerTurnsTest, KeepsNoTurnWhenItCannotGoOn) {
  job_.DamageIndices();
  FGNN_ASSERT_OK_AND_ASSIGN(const auto sampler, Start(SmallJob::Slots::kRoomy,
                                                      1, DevicePlan::kSample));
  DeviceTable table(segment_.get(), kTrainer);
  GlobalQueue(segment_.get(), kNoOwner)
      .OpenForSampling(BatchSeq(job_.num_batches()));
  ASSERT_TRUE(failed_.WaitUntil(DeadlineIn(kTurnsPatience)));
  const Deadline deadline = DeadlineIn(kTurnsPatience);
  while (!table.TryTakeSlice(0, DeviceWork::kTrain)) {
    ASSERT_LT(MonotonicClock::now(), deadline);
    std::this_thread::yield();
  }
}

TEST_F(SamplerTurnsTest, RefusesADeviceThatTheJobDoesNotHave) {
  EXPECT_THAT(
      Start(SmallJob::Slots::kRoomy, 2, DevicePlan::kSample, /*device=*/2)
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               testing::HasSubstr("device 2 is none of the 2")));
}

}  // namespace
}  // namespace fgnn
