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
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/daemon/small_world.h"

namespace fgnn {
namespace {

using testing::SizeIs;

constexpr char kJobId[] = "job";
constexpr uint64_t kSteps = 6;  // 2 epochs of 3 steps: 3, 3 and 1 batches.
constexpr BatchSeq kBatches = 14;

// One trainer of the job.
struct Trainer {
  std::unique_ptr<Workplace> workplace;
  std::unique_ptr<JobTrainer> trainer;
};

class JobTrainerTest : public testing::Test {
 protected:
  void SetUp() override {
    WriteSmallDataset(folder_ / "data");
    StartOver();
  }

  void StartOver() {
    FGNN_ASSERT_OK_AND_ASSIGN(
        segment_, Segment::Create(links_ ? SmallLinkSegmentOptions(kJobId)
                                         : SmallSegmentOptions(kJobId)));
    scheduler_queue_.emplace(segment_.get(), kNoOwner);
    scheduler_board_.emplace(segment_.get(), kNoOwner);
    sampler_.emplace(segment_.get(), kSamplerOwner, 0);
    scheduler_queue_->OpenForSampling(kBatches);
    scheduler_board_->OpenForTraining(kSteps);
  }

  Trainer MakeTrainer(OwnerIndex owner, int threads = 1, uint32_t ahead = 0) {
    JobSpec spec =
        links_ ? SmallLinkJob(folder_ / "data") : SmallJob(folder_ / "data");
    spec.features.ahead = ahead;
    spec.training.precision = precision_;
    Trainer made;
    auto workplace = Workplace::OpenForJob(spec, threads);
    EXPECT_THAT(workplace, IsOk());
    made.workplace = *std::move(workplace);
    EXPECT_THAT(JobTrainer::CheckSegment(*segment_, made.workplace->model(),
                                         spec.training),
                IsOk());
    made.trainer = std::make_unique<JobTrainer>(spec, made.workplace.get(),
                                                segment_.get(), owner);
    return made;
  }

  uint64_t job_key() const { return segment_->options().job_key; }
  bool Sample() {
    return SampleNext(&*sampler_, job_key(), order_ ? &*order_ : nullptr,
                      links_);
  }

  // Works and samples in turns until there is nothing left to do.
  void Drain(JobTrainer& trainer) {
    for (bool worked = true; worked;) {
      worked = Sample();
      FGNN_ASSERT_OK_AND_ASSIGN(const bool trained, trainer.DoNext());
      worked = worked || trained;
    }
  }

  std::vector<float> FinalWeights() {
    EXPECT_EQ(scheduler_board_->version(), kSteps);
    const absl::Span<const float> weights = scheduler_board_->weights(kSteps);
    const absl::Span<const float> state =
        scheduler_board_->optimizer_state(kSteps);
    std::vector<float> all(weights.begin(), weights.end());
    all.insert(all.end(), state.begin(), state.end());
    return all;
  }

  // The weights and optimizer state after the job on one trainer.
  std::vector<float> Expected() {
    StartOver();
    const Trainer trainer = MakeTrainer(2);
    Drain(*trainer.trainer);
    std::vector<float> weights = FinalWeights();
    StartOver();
    return weights;
  }

  static bool SameBits(const std::vector<float>& a,
                       const std::vector<float>& b) {
    return a.size() == b.size() &&
           std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  }

  TempFolder folder_;
  std::unique_ptr<Segment> segment_;
  std::optional<GlobalQueue> scheduler_queue_;
  std::optional<GradientBoard> scheduler_board_;
  std::optional<GlobalQueue> sampler_;
  std::optional<RankOrder> order_;  // What tasks are marked by.
  std::string precision_ = "f32";
  bool links_ = false;  // Predict links.
};

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
    for (BatchSeq seq = 7; seq < kBatches; ++seq) {
      const std::optional<BatchRecord> record = scheduler_board_->record(seq);
      if (!record.has_value()) ADD_FAILURE() << "batch " << seq;
      sum += record.value_or(BatchRecord()).num_cache_hits;
    }
    return sum;
  };
  const auto train = [&](bool is_marked) {
    StartOver();
    const Trainer trainer = MakeTrainer(2);
    segment_->SetCachePlan({.rank_order_key = kKey, .rows = kCachedRows});
    auto order = RankOrder::Open(dataset, kKey);
    EXPECT_THAT(order, IsOk());
    order_.reset();
    if (is_marked) order_ = *std::move(order);
    Drain(*trainer.trainer);
    EXPECT_EQ(trainer.workplace->cache()->cache.capacity(), kCachedRows);
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
  const Trainer late = MakeTrainer(3);
  FGNN_ASSERT_OK(late.workplace->CacheAsPlanned({kKey, kCachedRows}));
  EXPECT_EQ(late.workplace->cache()->cache.capacity(), 0U);
}

// And a job of link prediction.
class JobPrecisionTest : public JobTrainerTest,
                         public testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(Precisions, JobPrecisionTest,
                         testing::Values("f32", "bf16", "links"),
                         [](const auto& test) { return test.param; });

TEST_P(JobPrecisionTest, WeightsAreBitIdenticalForOneTwoAndThreeTrainers) {
  const std::string kind = GetParam();
  links_ = kind == "links";
  precision_ = links_ ? "f32" : kind;
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
    EXPECT_EQ(batches, kBatches);
    EXPECT_EQ(scheduler_queue_->Counts().free, segment_->options().num_slots);
    const auto last = scheduler_board_->record(kBatches - 1);
    ASSERT_TRUE(last.has_value());
    // What a batch weighs: its pairs, or its seeds.
    EXPECT_EQ(last->num_seeds, links_ ? 9U : 3U);
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
  const Trainer first = MakeTrainer(/*owner=*/2);
  constexpr OwnerIndex kOtherSampler = 7;
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
  for (BatchSeq seq = 0; seq < 7; ++seq) {
    AlignedBuffer buffer;
    const absl::Span<std::byte> block(
        static_cast<std::byte*>(buffer.Reserve(1 << 14)), 1 << 14);
    FGNN_ASSERT_OK(WriteMadeUpTask(block, job_key(), seq));
    FGNN_ASSERT_OK_AND_ASSIGN(const TaskView task, ReadTask(block, job_key()));
    const std::optional<BatchRecord> record = scheduler_board_->record(seq);
    ASSERT_TRUE(record.has_value()) << seq;
    EXPECT_EQ(record->sampler, sampler_of[seq]);
    EXPECT_EQ(record->trainer, 2);
    EXPECT_EQ(record->digest, task.digest);
    EXPECT_EQ(record->num_seeds, task.num_seeds);
    EXPECT_EQ(record->num_edges, task.num_edges());
    EXPECT_EQ(record->num_input_nodes, task.input_nodes.size());
    EXPECT_LE(record->num_correct, record->num_seeds);
    EXPECT_GT(record->loss, 0);
    EXPECT_GT(record->train, 0);
    EXPECT_GE(record->wait, 0);
  }
}

TEST_F(JobTrainerTest, LearnsWhatTheFeaturesSay) {
  const Trainer trainer = MakeTrainer(2);
  double first_loss = 0;
  double last_loss = 0;
  while (scheduler_board_->version().value_or(0) < kSteps) {
    Sample();
    FGNN_ASSERT_OK(trainer.trainer->DoNext());
    if (const auto record = scheduler_board_->record(0);
        record.has_value() && first_loss == 0) {
      first_loss = static_cast<double>(record->loss);
    }
  }
  for (BatchSeq seq = 7; seq < 14; ++seq) {
    const auto record = scheduler_board_->record(seq);
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
  const Trainer trainer = MakeTrainer(2);
  Drain(*trainer.trainer);
  // Initial weights need no opened step.
  EXPECT_EQ(scheduler_board_->version(), 0U);
  scheduler_board_->OpenForTraining(1);
  Drain(*trainer.trainer);
  EXPECT_EQ(scheduler_board_->version(), 1U);
  EXPECT_EQ(trainer.trainer->batches(), 3U);
}

TEST_F(JobTrainerTest, ADeadTrainerCostsOneBatchAndNoBit) {
  const std::vector<float> expected = Expected();
  const Trainer trainer = MakeTrainer(2);
  FGNN_ASSERT_OK(trainer.trainer->DoNext());  // Initial weights.
  while (Sample()) {
  }
  // Another one dies with a batch in its hands …
  GlobalQueue dead(segment_.get(), 9);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::optional<ReadSlot> held,
                            dead.TryClaimForReading(0, 3));
  ASSERT_TRUE(held.has_value());
  Drain(*trainer.trainer);
  EXPECT_EQ(scheduler_board_->version(), 0U);
  EXPECT_THAT(scheduler_queue_->ReclaimSlotsOf(9), SizeIs(1));
  // … and a third one with the right to make a step.
  while (scheduler_board_->version() == 0U) {
    GradientBoard board(segment_.get(), 10);
    if (std::optional<StepLease> lease = board.TryLease(); lease.has_value()) {
      EXPECT_TRUE(scheduler_board_->ReclaimLeaseOf(10));
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
  const Trainer trainer = MakeTrainer(2);
  FGNN_ASSERT_OK(trainer.trainer->DoNext());
  while (Sample()) {
  }
  const Trainer other = MakeTrainer(3);
  GlobalQueue dead(segment_.get(), 9);
  std::optional<ReadSlot> held;
  {
    // The batch's result, made by a trainer on another segment of the same
    // job, as the one that died made it.
    FGNN_ASSERT_OK_AND_ASSIGN(held, dead.TryClaimForReading(0, 1));
    ASSERT_TRUE(held.has_value());
    FGNN_ASSERT_OK_AND_ASSIGN(const TaskView task,
                              ReadTask(held->block(), job_key()));
    std::vector<float> features(task.input_nodes.size() * 6);
    FGNN_ASSERT_OK(other.workplace->features().CopyRows(task.input_nodes,
                                                        features.data()));
    std::vector<int64_t> labels;
    for (const GlobalId seed : task.seeds()) {
      labels.push_back(other.workplace->dataset().labels()[seed]);
    }
    TrainingBatch batch;
    batch.task = &task;
    batch.features = absl::MakeSpan(features);
    batch.labels = labels;
    batch.seed = 5;
    GradientBoard board(segment_.get(), 9);
    FGNN_ASSERT_OK(other.workplace->model().Gradient(board.weights(0), batch,
                                                     board.gradient(0)));
    BatchRecord record;
    record.num_seeds = task.num_seeds;
    FGNN_ASSERT_OK(board.MarkDone(0, record));
  }
  while (scheduler_board_->version() == 0U) {
    FGNN_ASSERT_OK(trainer.trainer->DoNext());
  }
  EXPECT_THAT(scheduler_queue_->ReclaimSlotsOf(9), SizeIs(1));
  Drain(*trainer.trainer);
  EXPECT_EQ(trainer.trainer->batches(), kBatches - 1);
  EXPECT_EQ(scheduler_queue_->Counts().free, segment_->options().num_slots);
  EXPECT_TRUE(SameBits(FinalWeights(), expected));
}

TEST_F(JobTrainerTest, HasADamagedBatchSampledAgainButNotForEver) {
  const std::vector<float> expected = Expected();
  const Trainer trainer = MakeTrainer(2);
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
  const Trainer unlucky = MakeTrainer(2);
  FGNN_ASSERT_OK(unlucky.trainer->DoNext());
  for (int times = 0; times < 2; ++times) {
    sample_damaged();
    FGNN_ASSERT_OK(unlucky.trainer->DoNext());
  }
  sample_damaged();
  EXPECT_THAT(unlucky.trainer->DoNext(),
              StatusIs(absl::StatusCode::kDataLoss,
                       testing::HasSubstr("batch 0 arrived damaged 3 times")));
}

TEST_F(JobTrainerTest, RefusesATaskOfAnotherBatch) {
  const Trainer trainer = MakeTrainer(2);
  FGNN_ASSERT_OK(trainer.trainer->DoNext());
  FGNN_ASSERT_OK_AND_ASSIGN(std::optional<WriteSlot> slot,
                            sampler_->TryClaimForWriting());
  FGNN_ASSERT_OK(WriteMadeUpTask(slot->block(), job_key(), 1));
  FGNN_ASSERT_OK((*std::move(slot)).Publish());
  FGNN_ASSERT_OK(trainer.trainer->DoNext());
  EXPECT_EQ(trainer.trainer->batches(), 0U);
  EXPECT_EQ(scheduler_queue_->Counts().ready, 0U);
}

TEST_F(JobTrainerTest, NamesEpochAndBatchOfALossThatIsNotFinite) {
  WriteSmallDataset(folder_ / "broken", /*broken=*/true);
  FGNN_ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<Workplace> workplace,
      Workplace::OpenForJob(SmallJob(folder_ / "broken"), 1));
  JobTrainer trainer(SmallJob(folder_ / "broken"), workplace.get(),
                     segment_.get(), 2);
  FGNN_ASSERT_OK(trainer.DoNext());
  ASSERT_TRUE(Sample());
  EXPECT_THAT(trainer.DoNext(),
              StatusIs(absl::StatusCode::kAborted,
                       testing::HasSubstr("in epoch 0, batch 0")));
}

TEST_F(JobTrainerTest, StopsWithTheJob) {
  const Trainer trainer = MakeTrainer(2);
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
    const Trainer made = MakeTrainer(2);
    JobTrainer trainer(spec, made.workplace.get(), segment_.get(), 3);
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
  const Trainer trainer = MakeTrainer(2);
  TrainingSpec training = SmallJob(folder_ / "data").training;
  EXPECT_THAT(
      JobTrainer::CheckSegment(*other, trainer.workplace->model(), training),
      StatusIs(absl::StatusCode::kInvalidArgument,
               testing::HasSubstr("parameters")));
  training.optimizer = "sgd";
  EXPECT_THAT(
      JobTrainer::CheckSegment(*segment_, trainer.workplace->model(), training),
      StatusIs(absl::StatusCode::kInvalidArgument,
               testing::HasSubstr("with 2 floats of state each; the model has "
                                  "307 with 0")));
}

}  // namespace
}  // namespace fgnn
