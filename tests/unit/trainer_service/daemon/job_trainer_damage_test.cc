// What a trainer makes of the deaths of others, and of batches that are damaged
// or diverge.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/trainer_service/daemon/job_trainer_fixture.h"

namespace fgnn {
namespace {

TEST_F(JobTrainerTest, ADeadTrainerCostsOneBatchAndNoBit) {
  const std::vector<float> expected = Expected();
  const Trainer trainer = MakeTrainer(OwnerIndex{2});
  FGNN_ASSERT_OK(trainer.trainer->DoNext());  // Initial weights.
  while (Sample()) {
  }
  // Another one dies with a batch in its hands …
  GlobalQueue dead(segment_.get(), OwnerIndex{9});
  FGNN_ASSERT_OK_AND_ASSIGN(const std::optional<ReadSlot> held,
                            dead.TryClaimForReading(BatchSeq(0), BatchSeq(3)));
  ASSERT_TRUE(held.has_value());
  Drain(*trainer.trainer);
  EXPECT_EQ(scheduler_board_->version(), 0U);
  EXPECT_THAT(scheduler_queue_->ReclaimSlotsOf(OwnerIndex{9}),
              testing::SizeIs(1));
  // … and a third one with the right to make a step.
  while (scheduler_board_->version() == 0U) {
    GradientBoard board(segment_.get(), OwnerIndex{10});
    if (std::optional<StepLease> lease = board.TryLease(); lease.has_value()) {
      EXPECT_TRUE(scheduler_board_->ReclaimLeaseOf(OwnerIndex{10}));
    }
    FGNN_ASSERT_OK(trainer.trainer->DoNext());
  }
  Drain(*trainer.trainer);
  EXPECT_TRUE(SameBits(FinalWeights(), expected));
}

// A trainer dies after its gradient was marked done, before it freed the slot;
// the step is committed before the reaper comes.
TEST_F(JobTrainerTest, FreesASlotWhoseStepIsCommitted) {
  const std::vector<float> expected = Expected();
  const Trainer trainer = MakeTrainer(OwnerIndex{2});
  FGNN_ASSERT_OK(trainer.trainer->DoNext());
  while (Sample()) {
  }
  const Trainer other = MakeTrainer(OwnerIndex{3});
  GlobalQueue dead(segment_.get(), OwnerIndex{9});
  std::optional<ReadSlot> held;
  {
    // The batch's result, made by a trainer on another segment of the same
    // job, as the one that died made it.
    FGNN_ASSERT_OK_AND_ASSIGN(
        held, dead.TryClaimForReading(BatchSeq(0), BatchSeq(1)));
    ASSERT_TRUE(held.has_value());
    FGNN_ASSERT_OK_AND_ASSIGN(const TaskView task,
                              ReadTask(held->block(), job_key()));
    std::vector<float> features(task.input_nodes.size() * 6);
    FGNN_ASSERT_OK(other.backend->host().features().CopyRows(task.input_nodes,
                                                             features.data()));
    std::vector<int64_t> labels;
    for (const GlobalId seed : task.seeds()) {
      labels.push_back(other.backend->dataset().labels()[seed]);
    }
    TrainingBatch batch;
    batch.task = &task;
    batch.features = absl::MakeSpan(features);
    batch.labels = labels;
    batch.seed = 5;
    GradientBoard board(segment_.get(), OwnerIndex{9});
    FGNN_ASSERT_OK(other.backend->host().model().Gradient(
        board.weights(0), batch, board.gradient({BatchSeq(0)})));
    BatchRecord record;
    record.num_seeds = task.num_seeds;
    record.batch_examples = task.num_seeds;
    FGNN_ASSERT_OK(board.MarkDone({BatchSeq(0)}, record));
  }
  while (scheduler_board_->version() == 0U) {
    FGNN_ASSERT_OK(trainer.trainer->DoNext());
  }
  EXPECT_THAT(scheduler_queue_->ReclaimSlotsOf(OwnerIndex{9}),
              testing::SizeIs(1));
  Drain(*trainer.trainer);
  EXPECT_EQ(trainer.trainer->batches(), kBatches.value() - 1);
  EXPECT_EQ(scheduler_queue_->Counts().free, segment_->options().num_slots);
  EXPECT_TRUE(SameBits(FinalWeights(), expected));
}

TEST_F(JobTrainerTest, HasADamagedBatchSampledAgainButNotForEver) {
  const std::vector<float> expected = Expected();
  const Trainer trainer = MakeTrainer(OwnerIndex{2});
  FGNN_ASSERT_OK(trainer.trainer->DoNext());
  const auto sample_damaged = [this] {
    FGNN_ASSERT_OK_AND_ASSIGN(std::optional<WriteSlot> slot,
                              sampler_->TryClaimForWriting());
    ASSERT_TRUE(slot.has_value());
    const absl::Span<std::byte> block = slot->block();
    FGNN_ASSERT_OK(WriteMadeUpTask(block, job_key(), slot->seq()));
    FGNN_ASSERT_OK((*std::move(slot)).Publish());
    TaskHeader header;
    std::memcpy(&header, block.data(), sizeof(header));
    block[header.input_nodes_offset] ^= std::byte{4};
  };
  sample_damaged();
  FGNN_ASSERT_OK(trainer.trainer->DoNext());
  EXPECT_EQ(trainer.trainer->batches(), 0U);
  sample_damaged();
  FGNN_ASSERT_OK(trainer.trainer->DoNext());
  // A sound one in between is taken, and the job is none the worse.
  Drain(*trainer.trainer);
  EXPECT_TRUE(SameBits(FinalWeights(), expected));

  StartOver();
  const Trainer unlucky = MakeTrainer(OwnerIndex{2});
  FGNN_ASSERT_OK(unlucky.trainer->DoNext());
  for (int times = 0; times < 2; ++times) {
    sample_damaged();
    FGNN_ASSERT_OK(unlucky.trainer->DoNext());
  }
  sample_damaged();
  EXPECT_THAT(unlucky.trainer->DoNext(),
              StatusIs(absl::StatusCode::kDataLoss,
                       testing::HasSubstr("batch 0 arrived damaged 3 times")));
  MetricPage page;
  totals_.AddTo(page);
  EXPECT_THAT(page.Text(),
              testing::HasSubstr("fgnn_trainer_damaged_batches_total 5\n"));
}

TEST_F(JobTrainerTest, RefusesATaskOfAnotherBatch) {
  const Trainer trainer = MakeTrainer(OwnerIndex{2});
  FGNN_ASSERT_OK(trainer.trainer->DoNext());
  FGNN_ASSERT_OK_AND_ASSIGN(std::optional<WriteSlot> slot,
                            sampler_->TryClaimForWriting());
  FGNN_ASSERT_OK(WriteMadeUpTask(slot->block(), job_key(), BatchSeq(1)));
  FGNN_ASSERT_OK((*std::move(slot)).Publish());
  FGNN_ASSERT_OK(trainer.trainer->DoNext());
  EXPECT_EQ(trainer.trainer->batches(), 0U);
  EXPECT_EQ(scheduler_queue_->Counts().ready, 0U);
}

TEST_F(JobTrainerTest, NamesEpochAndBatchOfALossThatIsNotFinite) {
  WriteSmallDataset(folder_ / "broken", /*broken=*/true);
  FGNN_ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<CpuBackend> backend,
      CpuBackend::OpenForJob(SmallJob(folder_ / "broken"), 1));
  BoardExchange steps(segment_.get(), OwnerIndex{2});
  JobTrainer trainer(SmallJob(folder_ / "broken"), backend.get(), &steps,
                     segment_.get(), OwnerIndex{2});
  FGNN_ASSERT_OK(trainer.DoNext());
  ASSERT_TRUE(Sample());
  EXPECT_THAT(trainer.DoNext(),
              StatusIs(absl::StatusCode::kAborted,
                       testing::HasSubstr("in epoch 1, batch 0")));
}

}  // namespace
}  // namespace fgnn
