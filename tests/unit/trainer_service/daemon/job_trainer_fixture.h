// Trainers on one segment. Each has its own views and owner index, as separate
// processes would have.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_DAEMON_JOB_TRAINER_FIXTURE_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_DAEMON_JOB_TRAINER_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/daemon/small_world.h"
#include "trainer_service/backend/cpu/cpu_backend.h"
#include "trainer_service/daemon/job_trainer.h"
#include "trainer_service/sync/board_exchange.h"

namespace fgnn {

inline constexpr char kJobId[] = "job";
inline constexpr uint64_t kSteps =
    6;  // 2 epochs of 3 steps: 3, 3 and 1 batches.
inline constexpr BatchSeq kBatches(14);

// One trainer of the job.
struct Trainer {
  std::unique_ptr<CpuBackend> backend;
  std::unique_ptr<StepExchange> steps;
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
        segment_, Segment::Create(links() ? SmallLinkSegmentOptions(kJobId)
                                          : SmallSegmentOptions(kJobId)));
    scheduler_queue_.emplace(segment_.get(), kNoOwner);
    scheduler_board_.emplace(segment_.get(), kNoOwner);
    sampler_.emplace(segment_.get(), kSamplerOwner, 0);
    scheduler_queue_->OpenForSampling(kBatches);
    scheduler_board_->OpenForTraining(StepNumber(kSteps));
  }

  Trainer MakeTrainer(OwnerIndex owner, int threads = 1, uint32_t ahead = 0) {
    const std::filesystem::path data = folder_ / data_;
    JobSpec spec = links() ? SmallLinkJob(data) : SmallJob(data);
    spec.training.task = std::string(TaskOf(objective_));
    spec.features.ahead = ahead;
    spec.training.precision = precision_;
    Trainer made;
    auto backend = CpuBackend::OpenForJob(spec, threads);
    EXPECT_THAT(backend, IsOk());
    made.backend = *std::move(backend);
    EXPECT_THAT(
        JobTrainer::CheckSegment(*segment_, *made.backend, spec.training),
        IsOk());
    made.steps = std::make_unique<BoardExchange>(segment_.get(), owner);
    made.trainer = std::make_unique<JobTrainer>(
        spec, made.backend.get(), made.steps.get(), segment_.get(), owner,
        /*device=*/0, TrainerReport{.job_id = "job", .totals = &totals_});
    return made;
  }

  // Has the job learn this, from a dataset of its own.
  void LearnTargets(Objective objective) {
    objective_ = objective;
    data_ = "targets";
    WriteSmallDataset(folder_ / data_, /*broken=*/false, objective);
  }

  bool links() const { return objective_ == Objective::kLinks; }
  uint64_t job_key() const { return segment_->options().job_key; }
  bool Sample() {
    return SampleNext(&*sampler_, job_key(), order_ ? &*order_ : nullptr,
                      links());
  }

  // Trains and samples by turns until there is no work left.
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

  // Returns the weights and optimizer state after the job on one trainer.
  std::vector<float> Expected() {
    StartOver();
    const Trainer trainer = MakeTrainer(OwnerIndex{2});
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
  TrainingTotals totals_;  // Totals of all trainers of MakeTrainer().
  std::unique_ptr<Segment> segment_;
  std::optional<GlobalQueue> scheduler_queue_;
  std::optional<GradientBoard> scheduler_board_;
  std::optional<GlobalQueue> sampler_;
  std::optional<RankOrder> order_;  // Order by which tasks are marked.
  std::string precision_ = "f32";
  Objective objective_ = Objective::kClasses;  // What the job learns.
  std::string data_ = "data";                  // Name of the dataset's folder.
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_DAEMON_JOB_TRAINER_FIXTURE_H_
