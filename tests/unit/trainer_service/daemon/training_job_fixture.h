// A job of a trainer on a small data set, whose queue and board the test holds.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_DAEMON_TRAINING_JOB_FIXTURE_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_DAEMON_TRAINING_JOB_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/files/guarded_path.h"
#include "shared/queue/gradient_board.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/daemon/small_world.h"
#include "trainer_service/backend/cpu/cpu_backend.h"
#include "trainer_service/daemon/training_job.h"

namespace fgnn {

namespace fs = std::filesystem;

inline constexpr char kJobId[] = "job";

inline CallLimits Patient() {
  CallLimits limits;
  limits.deadline = DeadlineIn(std::chrono::seconds(120));
  return limits;
}

class TrainingJobTest : public testing::Test {
 protected:
  void SetUp() override {
    WriteSmallDataset(folder_ / "data");
    UseSegment(SmallSegmentOptions(kJobId));
  }

  void UseSegment(const SegmentOptions& options) {
    FGNN_ASSERT_OK_AND_ASSIGN(segment_, Segment::Create(options));
    queue_.emplace(segment_.get(), kNoOwner);
    board_.emplace(segment_.get(), kNoOwner);
    sampler_.emplace(segment_.get(), kSamplerOwner, 0);
  }

  // A daemon's mapping of the same segment.
  std::unique_ptr<Segment> Map() {
    auto segment = Segment::Attach(UniqueFd(::dup(segment_->fd())),
                                   segment_->options().job_key);
    EXPECT_THAT(segment, IsOk());
    return *std::move(segment);
  }

  absl::StatusOr<std::unique_ptr<TrainingJob>> Start(const fs::path& dataset) {
    TrainingJobOptions options;
    options.job_id = kJobId;
    options.spec = SmallJob(dataset);
    options.spec.features.wire = wire_;
    if (change_) change_(options.spec.training);
    if (!degree_norm_.empty()) {
      options.spec.model.kind = "gcn";
      options.spec.model.degree_norm = degree_norm_;
    }
    auto backend = CpuBackend::OpenForJob(options.spec, 2);
    EXPECT_THAT(backend, IsOk());
    if (prepare_) prepare_(**backend);
    options.owner = OwnerIndex{2};
    options.on_failure = [this](const absl::Status& failure) {
      failure_ = failure;
      failed_.Notify();
    };
    return TrainingJob::Start(std::move(options), *std::move(backend), Map());
  }
  std::unique_ptr<TrainingJob> Attach(const fs::path& dataset) {
    auto job = Start(dataset);
    EXPECT_THAT(job, IsOk());
    return *std::move(job);
  }
  std::unique_ptr<TrainingJob> Attach() { return Attach(folder_ / "data"); }

  // Opens an epoch, samples it, waits until it is committed.
  void TrainThrough(uint64_t epoch) {
    queue_->OpenForSampling(BatchSeq((epoch + 1) * 7));
    board_->OpenForTraining(StepNumber((epoch + 1) * 3));
    const Deadline deadline = DeadlineIn(std::chrono::seconds(120));
    while (board_->version().value_or(0) < (epoch + 1) * 3) {
      ASSERT_LT(MonotonicClock::now(), deadline);
      const uint32_t seen = board_->changes();
      if (SampleNext(&*sampler_, segment_->options().job_key)) continue;
      FGNN_ASSERT_OK(board_->WaitForChange(
          seen, DeadlineIn(std::chrono::milliseconds(100))));
    }
  }

  EvaluateRequest Query(std::vector<std::string> splits) {
    EvaluateRequest request;
    request.job_id = kJobId;
    request.splits = std::move(splits);
    return request;
  }
  // A request to save into the folder that has the path's name now.
  SaveCheckpointRequest Saving(const fs::path& path, uint32_t epochs_done = 1,
                               uint64_t version = 3) {
    SaveCheckpointRequest request;
    request.job_id = kJobId;
    request.path = path;
    const auto folder = HeldFolder::Open(path.parent_path());
    if (folder.ok()) request.folder = folder->Id().value();
    request.version = version;
    request.epochs_done = epochs_done;
    request.run_state = "state";
    return request;
  }

  TempFolder folder_;
  std::function<void(TrainingSpec&)> change_;  // Of the job's spec.
  std::string wire_ = "stored";
  std::function<void(TrainerBackend&)> prepare_;
  std::string degree_norm_;  // Makes the model a GCN.
  std::unique_ptr<Segment> segment_;
  std::optional<GlobalQueue> queue_;
  std::optional<GradientBoard> board_;
  std::optional<GlobalQueue> sampler_;
  absl::Status failure_;
  Notification failed_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_DAEMON_TRAINING_JOB_FIXTURE_H_
