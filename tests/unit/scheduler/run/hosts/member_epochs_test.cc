#include "scheduler/run/hosts/member_epochs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "shared/base/hash.h"
#include "tests/fakes/default_job.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

constexpr char kMemberJob[] = "job";
constexpr OwnerIndex kMemberSampler{1};
constexpr OwnerIndex kMemberTrainer{2};

// Four devices of a member. The head has half of each step's four batches. An
// epoch has three steps.
class MemberEpochsTest : public testing::Test {
 protected:
  MemberEpochsTest() {
    spec_.dataset = (temp_ / "graph").string();
    std::filesystem::create_directories(temp_ / "graph");
    spec_.devices = Devs({"cpu:0", "cpu:1", "cpu:2", "cpu:3"});
    spec_.executors = "factored";
    spec_.samplers = 0;
    spec_.switching = false;
    SegmentOptions options;
    options.job_key = HashString(kMemberJob);
    options.num_slots = 16;
    options.slot_bytes = 4096;
    options.batches_per_epoch = 12;
    options.batches_per_step = 4;
    options.num_hosts = 2;
    options.places_before = 2;
    options.epochs = 50;
    options.num_parameters = 1;
    options.num_devices = 4;
    made_ = JobSegment::Create(kMemberJob, options).value();
    seen_ =
        Segment::Attach(UniqueFd(::dup(made_->fd())), options.job_key).value();
    made_->devices().SetExecutorOf(kMemberSampler, 0);
    made_->devices().SetExecutorOf(kMemberTrainer, 1);
    planner_ =
        std::make_unique<DevicePlanner>(kMemberJob, spec_, temp_ / "state");
    planner_->SetProfile({.cores = {.sample = 0.01, .train = 0.03}});
    planner_->Begin(made_.get());
    first_ = Samplers();
    epochs_ = std::make_unique<MemberEpochs>(planner_.get());
    made_->board().OpenForTraining(StepNumber(150));
    MakeStep();  // Version 0: the first weights.
  }

  // Makes the step that is open; its first two batches are the head's.
  void MakeStep() {
    GradientBoard board(seen_.get(), kMemberTrainer);
    const std::optional<uint64_t> version = board.version();
    if (version.has_value()) board.SetOthersVersion(*version);
    const auto tasks = version.has_value() ? board.TasksOf(StepNumber(*version))
                                           : std::vector<BatchPart>();
    for (const BatchPart& task : tasks) {
      BatchRecord record;
      record.sampler = kMemberSampler;
      record.trainer = kMemberTrainer;
      record.other_host = task.seq.value() % 4 < 2 ? 1 : 0;
      ASSERT_THAT(board.MarkDone(task, record), IsOk());
    }
    std::optional<StepLease> lease = board.TryLease();
    ASSERT_TRUE(lease.has_value());
    ASSERT_THAT(std::move(*lease).Publish(), IsOk());
  }
  void Follow() { epochs_->Follow(*made_, 0.1); }
  uint64_t Sampled() const { return planner_->Views()[0].sampled; }
  ptrdiff_t Samplers() const {
    return std::ranges::count(made_->devices().plans(), DevicePlan::kSample);
  }
  // From now on sampling takes three times as long as training.
  void MeasureOtherTimes() {
    DeviceTable& table = made_->devices().table();
    for (uint32_t device = 0; device < 4; ++device) {
      for (int i = 0; i < 200; ++i) {
        table.AddSampleTime(device, 0.03);
        table.AddTrainTime(device, 0.01);
      }
    }
  }

  TempFolder temp_;
  JobSpec spec_ = DefaultJob();
  std::unique_ptr<JobSegment> made_;
  std::unique_ptr<Segment> seen_;
  std::unique_ptr<DevicePlanner> planner_;
  std::unique_ptr<MemberEpochs> epochs_;
  ptrdiff_t first_ = 0;  // Number of samplers by the first plan.
};

TEST_F(MemberEpochsTest, PlansAgainAfterEachEpochAndNotWithinOne) {
  Follow();
  MeasureOtherTimes();
  for (int step = 0; step < 2; ++step) {
    MakeStep();
    Follow();
    EXPECT_EQ(Samplers(), first_);
  }
  MakeStep();
  Follow();
  EXPECT_GT(Samplers(), first_);
}

TEST_F(MemberEpochsTest, CountsEachBatchOfThisHostOnce) {
  MakeStep();
  Follow();  // The first call takes none.
  EXPECT_EQ(Sampled(), 0U);
  MakeStep();
  Follow();
  Follow();
  EXPECT_EQ(Sampled(), 2U);
}

TEST_F(MemberEpochsTest, FollowsAHeadThatIsAnEpochFurther) {
  Follow();
  MeasureOtherTimes();
  for (int step = 0; step < 4; ++step) MakeStep();
  // The second epoch's first step has overwritten the first one's records.
  Follow();
  EXPECT_GT(Samplers(), first_);
  EXPECT_EQ(Sampled(), 6U);
}

TEST_F(MemberEpochsTest, DoesNotPlanForNoFurtherEpoch) {
  for (int step = 0; step < 149; ++step) MakeStep();
  Follow();
  MeasureOtherTimes();
  MakeStep();
  Follow();
  EXPECT_EQ(Samplers(), first_);
}

}  // namespace
}  // namespace fgnn
