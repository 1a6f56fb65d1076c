// Trainers on one segment, each with views and an owner of its own, as
// processes would have.
#include "trainer_service/daemon/job_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/daemon/job_trainer_fixture.h"
#include "tests/unit/trainer_service/daemon/small_world.h"
#include "trainer_service/compute/scratch.h"

namespace fgnn {
namespace {

// Until the job's last step is published.
void WorkUntilDone(JobTrainer* trainer, const GradientBoard* board) {
  const Deadline deadline = DeadlineIn(std::chrono::seconds(120));
  while (board->version().value_or(0) < kSteps) {
    ASSERT_LT(MonotonicClock::now(), deadline);
    const uint32_t seen = trainer->changes();
    FGNN_ASSERT_OK_AND_ASSIGN(const bool worked, trainer->DoNext());
    if (worked) continue;
    FGNN_ASSERT_OK(
        trainer->WaitForWork(seen, DeadlineIn(std::chrono::milliseconds(100))));
  }
}

TEST_F(JobTrainerTest, ACacheChangesWhereFeaturesComeFromAndNothingElse) {
  constexpr uint64_t kKey = 5;
  constexpr uint64_t kCachedRows = 40;
  const std::vector<float> expected = Expected();
  FGNN_ASSERT_OK_AND_ASSIGN(
      const Dataset dataset,
      Dataset::Open(folder_ / "data", Validation::kShapes));
  std::vector<GlobalId> vertices(kSmallNodes);
  for (uint32_t v = 0; v < kSmallNodes; ++v) {
    vertices[v] = v * 7 % kSmallNodes;
  }
  FGNN_ASSERT_OK(RankOrder::Save(dataset, kKey, vertices));
  const auto hits = [&] {
    uint64_t sum = 0;
    for (BatchSeq seq(7); seq < kBatches; ++seq) {
      const std::optional<BatchRecord> record = scheduler_board_->record({seq});
      if (!record.has_value()) ADD_FAILURE() << "batch " << seq.value();
      sum += record.value_or(BatchRecord()).num_cache_hits;
    }
    return sum;
  };
  const auto train = [&](bool is_marked) {
    StartOver();
    const Trainer trainer = MakeTrainer(OwnerIndex{2});
    segment_->SetCachePlan({.rank_order_key = kKey, .rows = kCachedRows});
    auto order = RankOrder::Open(dataset, kKey);
    EXPECT_THAT(order, IsOk());
    order_.reset();
    if (is_marked) order_ = *std::move(order);
    Drain(*trainer.trainer);
    EXPECT_EQ(trainer.backend->cache()->cache.capacity(), kCachedRows);
    EXPECT_TRUE(SameBits(FinalWeights(), expected));
  };
  train(/*is_marked=*/true);
  // A third is cached, and the made up tasks take their vertices evenly.
  EXPECT_GT(hits(), 0U);
  // Samplers that have lost the order do not mark.
  train(/*is_marked=*/false);
  EXPECT_EQ(hits(), 0U);
  // So has a trainer.
  std::filesystem::remove(RankOrder::PathOf(dataset, kKey));
  const Trainer late = MakeTrainer(OwnerIndex{3});
  FGNN_ASSERT_OK(late.backend->CacheAsPlanned({kKey, kCachedRows}));
  EXPECT_EQ(late.backend->cache()->cache.capacity(), 0U);
}

TEST_F(JobTrainerTest, WhoHasNoTurnGivesUpACacheThatIsTooLarge) {
  constexpr uint64_t kKey = 5;
  std::vector<GlobalId> vertices(kSmallNodes);
  std::iota(vertices.begin(), vertices.end(), 0);
  SegmentOptions options = SmallSegmentOptions(kJobId);
  options.num_devices = 1;
  FGNN_ASSERT_OK_AND_ASSIGN(segment_, Segment::Create(options));
  const Trainer made = MakeTrainer(OwnerIndex{2});
  FGNN_ASSERT_OK(RankOrder::Save(made.backend->dataset(), kKey, vertices));
  FGNN_ASSERT_OK(made.backend->CacheAsPlanned({kKey, 40}));
  segment_->SetCachePlan(
      {.rank_order_key = kKey, .rows = 40, .standby_rows = 15});
  // The device is to sample, and nobody trains.
  DeviceTable table(segment_.get(), kNoOwner);
  table.SetCachedAs(0, DevicePlan::kTrain);
  const auto rows_after_a_look = [&] {
    const absl::StatusOr<bool> worked = made.trainer->DoNext();
    EXPECT_THAT(worked, IsOk());
    EXPECT_FALSE(worked.value_or(true));
    return made.backend->cache()->cache.capacity();
  };
  EXPECT_EQ(rows_after_a_look(), 40U);
  table.SetCachedAs(0, DevicePlan::kSample);
  EXPECT_EQ(rows_after_a_look(), 0U);
}

// And jobs of other tasks.
class JobPrecisionTest : public JobTrainerTest,
                         public testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(Precisions, JobPrecisionTest,
                         testing::Values("f32", "bf16", "links", "values",
                                         "sets"),
                         [](const auto& test) { return test.param; });

TEST_P(JobPrecisionTest, WeightsAreBitIdenticalForOneTwoAndThreeTrainers) {
  const std::string kind = GetParam();
  if (kind == "bf16") precision_ = kind;
  if (kind == "links") objective_ = Objective::kLinks;
  if (kind == "values") LearnTargets(Objective::kValues);
  if (kind == "sets") LearnTargets(Objective::kLabelSets);
  const std::vector<float> expected = Expected();
  for (const int num_trainers : {2, 3, 3, 2}) {
    SCOPED_TRACE(num_trainers);
    StartOver();
    std::vector<Trainer> trainers;
    for (int i = 0; i < num_trainers; ++i) {
      // Threads, and batches extracted ahead, play no part either.
      trainers.push_back(
          MakeTrainer(static_cast<OwnerIndex>(2 + i), 1 + i % 2, i % 3));
    }
    std::vector<std::thread> threads;
    for (const Trainer& trainer : trainers) {
      threads.emplace_back(WorkUntilDone, trainer.trainer.get(),
                           &*scheduler_board_);
    }
    const Deadline deadline = DeadlineIn(std::chrono::seconds(120));
    while (scheduler_board_->version().value_or(0) < kSteps &&
           MonotonicClock::now() < deadline) {
      if (!Sample()) std::this_thread::yield();
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(SameBits(FinalWeights(), expected));
    uint64_t batches = 0;
    for (const Trainer& trainer : trainers) {
      batches += trainer.trainer->batches();
    }
    EXPECT_EQ(batches, kBatches.value());
    EXPECT_EQ(scheduler_queue_->Counts().free, segment_->options().num_slots);
    const auto last = scheduler_board_->record({kBatches - 1});
    ASSERT_TRUE(last.has_value());
    // What a batch weighs: its pairs, or its seeds.
    EXPECT_EQ(last->num_seeds, links() ? 9U : 3U);
  }
}

TEST_F(JobTrainerTest, Bfloat16EndsCloseToFloat32) {
  const std::vector<float> expected = Expected();
  precision_ = "bf16";
  const std::vector<float> found = Expected();
  EXPECT_FALSE(SameBits(found, expected));
  // Each of the six steps moves a weight by about 0.01, the learning rate, up
  // or down.
  double sum = 0;
  const size_t num_parameters = expected.size() / 3;
  for (size_t i = 0; i < num_parameters; ++i) {
    sum += std::abs(double{found[i]} - double{expected[i]});
  }
  EXPECT_LT(sum / static_cast<double>(num_parameters), 0.002);
}

TEST_F(JobTrainerTest, RecordsWhatItKnowsOfEachBatch) {
  const Trainer first = MakeTrainer(OwnerIndex{2});
  constexpr OwnerIndex kOtherSampler{7};
  GlobalQueue other_sampler(segment_.get(), kOtherSampler);
  std::vector<OwnerIndex> sampler_of;  // By seq: claims come in order.
  // The first epoch alone: records are those of the open epoch.
  while (scheduler_board_->version().value_or(0) < 3) {
    const bool others_turn = sampler_of.size() % 3 == 1;
    if (SampleNext(others_turn ? &other_sampler : &*sampler_, job_key())) {
      sampler_of.push_back(others_turn ? kOtherSampler : kSamplerOwner);
    }
    FGNN_ASSERT_OK(first.trainer->DoNext());
  }
  for (BatchSeq seq(0); seq < BatchSeq(7); ++seq) {
    Scratch<std::byte> buffer;
    const absl::Span<std::byte> block(buffer.Reserve(1 << 14), 1 << 14);
    FGNN_ASSERT_OK(WriteMadeUpTask(block, job_key(), seq));
    FGNN_ASSERT_OK_AND_ASSIGN(const TaskView task, ReadTask(block, job_key()));
    const std::optional<BatchRecord> record = scheduler_board_->record({seq});
    ASSERT_TRUE(record.has_value()) << seq.value();
    EXPECT_EQ(record->sampler, sampler_of[seq.value()]);
    EXPECT_EQ(record->trainer, OwnerIndex{2});
    EXPECT_EQ(record->digest, task.digest);
    EXPECT_EQ(record->num_seeds, task.num_seeds);
    EXPECT_EQ(record->batch_examples, task.num_seeds);
    EXPECT_EQ(record->num_edges, task.num_edges());
    EXPECT_EQ(record->num_input_nodes, task.input_nodes.size());
    EXPECT_LE(record->num_correct, record->num_seeds);
    EXPECT_GT(record->loss, 0);
    EXPECT_GT(record->train, 0);
    EXPECT_GE(record->wait, 0);
  }
}

// As a part of a batch may have none.
TEST_F(JobTrainerTest, TrainsABatchWithoutSeeds) {
  const Trainer made = MakeTrainer(OwnerIndex{2});
  for (BatchSeq seq(0); seq < BatchSeq(3); ++seq) {
    FGNN_ASSERT_OK_AND_ASSIGN(std::optional<WriteSlot> slot,
                              sampler_->TryClaimForWriting());
    ASSERT_TRUE(slot.has_value());
    FGNN_ASSERT_OK(seq == BatchSeq(1)
                       ? WriteTaskWithoutSeeds(slot->block(), job_key(), seq)
                       : WriteMadeUpTask(slot->block(), job_key(), seq));
    FGNN_ASSERT_OK((*std::move(slot)).Publish());
  }
  for (int piece = 0; piece < 5; ++piece) {
    FGNN_ASSERT_OK_AND_ASSIGN(const bool worked, made.trainer->DoNext());
    EXPECT_TRUE(worked);
  }
  EXPECT_EQ(scheduler_board_->version(), 1U);
  const std::optional<BatchRecord> record =
      scheduler_board_->record({BatchSeq(1)});
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->num_seeds, 0U);
  EXPECT_EQ(record->loss, 0);
  EXPECT_THAT(scheduler_board_->gradient({BatchSeq(1)}), testing::Each(0.0F));
}

class JobObjectiveTest : public JobTrainerTest,
                         public testing::WithParamInterface<Objective> {};

INSTANTIATE_TEST_SUITE_P(Objectives, JobObjectiveTest,
                         testing::Values(Objective::kClasses,
                                         Objective::kValues,
                                         Objective::kLabelSets),
                         [](const auto& test) {
                           return std::string(TaskOf(test.param));
                         });

TEST_P(JobObjectiveTest, LearnsWhatTheFeaturesSay) {
  if (HasTargets(GetParam())) LearnTargets(GetParam());
  const Trainer trainer = MakeTrainer(OwnerIndex{2});
  double first_loss = 0;
  double last_loss = 0;
  while (scheduler_board_->version().value_or(0) < kSteps) {
    Sample();
    FGNN_ASSERT_OK(trainer.trainer->DoNext());
    if (const auto record = scheduler_board_->record({BatchSeq(0)});
        record.has_value() && first_loss == 0) {
      first_loss = static_cast<double>(record->loss);
    }
  }
  for (BatchSeq seq(7); seq < BatchSeq(14); ++seq) {
    const auto record = scheduler_board_->record({seq});
    ASSERT_TRUE(record.has_value());
    last_loss += static_cast<double>(record->loss) / 7;
  }
  EXPECT_LT(last_loss, first_loss);
}

TEST_F(JobTrainerTest, DoesNothingBeyondTheOpenedSteps) {
  FGNN_ASSERT_OK_AND_ASSIGN(segment_,
                            Segment::Create(SmallSegmentOptions(kJobId)));
  scheduler_queue_.emplace(segment_.get(), kNoOwner);
  scheduler_board_.emplace(segment_.get(), kNoOwner);
  sampler_.emplace(segment_.get(), kSamplerOwner, 0);
  scheduler_queue_->OpenForSampling(kBatches);
  const Trainer trainer = MakeTrainer(OwnerIndex{2});
  Drain(*trainer.trainer);
  // Initial weights need no opened step.
  EXPECT_EQ(scheduler_board_->version(), 0U);
  scheduler_board_->OpenForTraining(StepNumber(1));
  Drain(*trainer.trainer);
  EXPECT_EQ(scheduler_board_->version(), 1U);
  EXPECT_EQ(trainer.trainer->batches(), 3U);
}

TEST_F(JobTrainerTest, StopsWithTheJob) {
  const Trainer trainer = MakeTrainer(OwnerIndex{2});
  FGNN_ASSERT_OK(trainer.trainer->DoNext());
  scheduler_queue_->Stop();
  EXPECT_THAT(trainer.trainer->DoNext(),
              StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(
      trainer.trainer->WaitForWork(trainer.trainer->changes(),
                                   DeadlineIn(std::chrono::seconds(60))),
      StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(JobTrainerTest, StepsByTheLearningRateThatTheSchedulerSays) {
  const auto weights_with = [this](double factor, double learning_rate) {
    StartOver();
    segment_->SetRateFactor(factor);
    JobSpec spec = SmallJob(folder_ / "data");
    spec.training.learning_rate = learning_rate;
    const Trainer made = MakeTrainer(OwnerIndex{2});
    BoardExchange steps(segment_.get(), OwnerIndex{3});
    JobTrainer trainer(spec, made.backend.get(), &steps, segment_.get(),
                       OwnerIndex{3});
    Drain(trainer);
    return FinalWeights();
  };
  const std::vector<float> half = weights_with(0.5, 0.25);
  EXPECT_TRUE(SameBits(half, weights_with(1, 0.125)));
  EXPECT_FALSE(SameBits(half, weights_with(1, 0.25)));
}

TEST_F(JobTrainerTest, RefusesASegmentOfAnotherModel) {
  SegmentOptions options = SmallSegmentOptions(kJobId);
  options.num_parameters += 1;
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Segment> other,
                            Segment::Create(options));
  const Trainer trainer = MakeTrainer(OwnerIndex{2});
  TrainingSpec training = SmallJob(folder_ / "data").training;
  EXPECT_THAT(JobTrainer::CheckSegment(*other, *trainer.backend, training),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::HasSubstr("parameters")));
  training.optimizer = "sgd";
  EXPECT_THAT(
      JobTrainer::CheckSegment(*segment_, *trainer.backend, training),
      StatusIs(absl::StatusCode::kInvalidArgument,
               testing::HasSubstr("with 2 floats of state each; the model has "
                                  "307 with 0")));
}

}  // namespace
}  // namespace fgnn
