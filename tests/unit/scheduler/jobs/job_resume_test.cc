// Jobs that go on from a checkpoint end as if nothing had happened.
#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/scheduler/jobs/job_run_fixture.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class JobResumeTest : public JobRunTest {
 protected:
  JobResumeTest() { spec_.training.evaluate_every = 0; }

  // Cancels the job once it has written this checkpoint.
  void EndAfter(const std::string& checkpoint) {
    calls_.on_save = [this, checkpoint](const fs::path& path) {
      if (path.stem() != checkpoint) return;
      EXPECT_THAT(table_->Cancel(id_, absl::CancelledError("by hand")), IsOk());
    };
  }
  std::string Checkpoint(const std::string& name) const {
    return (RunDir() / "checkpoints" / (name + ".safetensors")).string();
  }
};

TEST_F(JobResumeTest, GoesOnAtTheEndOfAnEpoch) {
  EndAfter("epoch-0002");
  ASSERT_EQ(Run().state, JobState::kCancelled);
  calls_.on_save = nullptr;
  const Job job = Resume();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_THAT(calls_.loaded, ElementsAre("epoch-0002.safetensors"));
  ExpectEveryBatchOnce();
}

TEST_F(JobResumeTest, ARunIsNotResumedOnADatasetWithOtherContents) {
  EndAfter("epoch-0002");
  ASSERT_EQ(Run().state, JobState::kCancelled);
  calls_.on_save = nullptr;
  const std::string metrics = ReadRun("metrics.jsonl");
  // The same shapes, and other labels.
  fs::remove_all(spec_.dataset);
  WriteRing(spec_.dataset, {.first_label = 1});
  const Job job = Resume();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error,
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("was trained on a dataset with the "
                                       "fingerprint"),
                             HasSubstr("put its files back"))));
  EXPECT_EQ(ReadRun("metrics.jsonl"), metrics);
  // Once they are what they were, it goes on.
  fs::remove_all(spec_.dataset);
  WriteRing(spec_.dataset, {});
  EXPECT_EQ(Resume().state, JobState::kCompleted);
  ExpectEveryBatchOnce();
}

TEST_F(JobResumeTest, ACheckpointWithoutAFingerprintIsResumed) {
  EndAfter("epoch-0002");
  ASSERT_EQ(Run().state, JobState::kCancelled);
  calls_.on_save = nullptr;
  for (auto& [path, checkpoint] : calls_.checkpoints) {
    nlohmann::json state = nlohmann::json::parse(checkpoint.run_state);
    EXPECT_EQ(state.erase("dataset_content"), 1U);
    checkpoint.run_state = state.dump();
  }
  EXPECT_EQ(Resume().state, JobState::kCompleted);
  ExpectEveryBatchOnce();
}

TEST_F(JobResumeTest, GoesOnWithinAnEpochWithItsSums) {
  spec_.training.checkpoint_steps = 2;  // Of three an epoch.
  EndAfter("epoch-0001-step-0000000004");
  ASSERT_EQ(Run().state, JobState::kCancelled);
  calls_.on_save = nullptr;
  const Job job = Resume();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_THAT(calls_.loaded,
              ElementsAre("epoch-0001-step-0000000004.safetensors"));
  ExpectEveryBatchOnce();
}

TEST_F(JobResumeTest, StepsAndTheEndOfAnEpochMayMeet) {
  spec_.training.checkpoint_every = 0;
  spec_.training.checkpoint_steps = 6;  // Of three an epoch.
  EndAfter("epoch-0002");
  ASSERT_EQ(Run().state, JobState::kCancelled);
  calls_.on_save = nullptr;
  ASSERT_EQ(Resume().state, JobState::kCompleted);
  EXPECT_THAT(calls_.loaded, ElementsAre("epoch-0002.safetensors"));
  ExpectEveryBatchOnce();
}

TEST_F(JobResumeTest, WhatWasDoneBehindTheCheckpointIsDoneAgain) {
  EndAfter("epoch-0003");
  ASSERT_EQ(Run().state, JobState::kCancelled);
  calls_.on_save = nullptr;
  fs::remove(Checkpoint("epoch-0003"));
  const Job job = Resume();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_THAT(calls_.loaded, ElementsAre("epoch-0002.safetensors"));
  ExpectEveryBatchOnce();
}

TEST_F(JobResumeTest, ADamagedCheckpointGivesWayToTheOneBefore) {
  EndAfter("epoch-0003");
  ASSERT_EQ(Run().state, JobState::kCancelled);
  calls_.on_save = nullptr;
  calls_.checkpoints.erase(Checkpoint("epoch-0003"));
  const Job job = Resume();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_THAT(calls_.loaded, ElementsAre("epoch-0002.safetensors"));
  ExpectEveryBatchOnce();
}

TEST_F(JobResumeTest, ADamagedStateOfTheRunGivesWayToo) {
  EndAfter("epoch-0003");
  ASSERT_EQ(Run().state, JobState::kCancelled);
  calls_.on_save = nullptr;
  calls_.checkpoints.at(Checkpoint("epoch-0003")).run_state = "{\"next_seq\":";
  ASSERT_EQ(Resume().state, JobState::kCompleted);
  EXPECT_THAT(calls_.loaded, ElementsAre("epoch-0002.safetensors"));
  ExpectEveryBatchOnce();
}

TEST_F(JobResumeTest, WithoutASoundCheckpointItFailsAndNamesOne) {
  EndAfter("epoch-0002");
  ASSERT_EQ(Run().state, JobState::kCancelled);
  calls_.on_save = nullptr;
  calls_.checkpoints.clear();
  const Job job = Resume();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error, StatusIs(absl::StatusCode::kDataLoss,
                                  AllOf(HasSubstr("the last one tried"),
                                        HasSubstr("epoch-0001.safetensors"))));
}

TEST_F(JobResumeTest, WithoutAnyCheckpointItStartsAnew) {
  spec_.training.checkpoint_every = 0;
  calls_.on_evaluate = [this] {
    EXPECT_THAT(table_->Cancel(id_, absl::CancelledError("by hand")), IsOk());
  };
  spec_.training.evaluate_every = 2;
  calls_.evaluations = {1};
  ASSERT_EQ(Run().state, JobState::kCancelled);
  calls_.on_evaluate = nullptr;
  calls_.evaluations = {1, 1, 1};
  const Job job = Resume();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_THAT(calls_.loaded, IsEmpty());
  ExpectEveryBatchOnce();
}

TEST_F(JobResumeTest, ACheckpointOfOtherBatchesIsRefused) {
  EndAfter("epoch-0002");
  ASSERT_EQ(Run().state, JobState::kCancelled);
  calls_.on_save = nullptr;
  spec_.sampling.batch_size = 5;
  const Job job = Resume();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error, StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("epoch-0002.safetensors")));
}

TEST_F(JobResumeTest, TheBestEpochIsKnownAfterwards) {
  spec_.training.evaluate_every = 1;
  calls_.evaluations = {4, 1};
  EndAfter("epoch-0002");
  ASSERT_EQ(Run().state, JobState::kCancelled);
  calls_.on_save = nullptr;
  calls_.evaluations = {2, 2, 3};
  ASSERT_EQ(Resume().state, JobState::kCompleted);
  EXPECT_EQ(Summary()["best_epoch"], 0);
  EXPECT_EQ(Summary()["valid_accuracy"], 1.0);
  EXPECT_EQ(Summary()["valid_macro_f1"], 0.5);
  EXPECT_EQ(ReadRun("checkpoints/best.safetensors"), "5");
}

TEST_F(JobResumeTest, StopsEarlyWhereItWouldHaveWithoutABreak) {
  spec_.training.epochs = 8;
  spec_.training.patience = 3;
  spec_.training.evaluate_every = 1;
  calls_.evaluations = {3, 2, 3};
  EndAfter("epoch-0003");
  ASSERT_EQ(Run().state, JobState::kCancelled);
  calls_.on_save = nullptr;
  calls_.evaluations = {1, 2};
  ASSERT_EQ(Resume().state, JobState::kCompleted);
  EXPECT_EQ(Summary()["epochs"], 4);
  EXPECT_EQ(Summary()["test_accuracy"], 0.5);
  EXPECT_TRUE(Summary()["stopped_early"].is_string());
  // It has ended: resumed again it is tested again, no more.
  calls_.evaluations = {2};
  ASSERT_EQ(Resume().state, JobState::kCompleted);
  EXPECT_EQ(Metrics().size(), 4U);
}

TEST_F(JobResumeTest, GoesOnWithALoweredLearningRate) {
  spec_.training.schedule = "plateau";
  spec_.training.plateau_epochs = 1;
  spec_.training.evaluate_every = 1;
  calls_.evaluations = {2, 1};
  EndAfter("epoch-0002");
  ASSERT_EQ(Run().state, JobState::kCancelled);
  calls_.on_save = nullptr;
  std::vector<double> factors;
  calls_.on_evaluate = [&] {
    factors.push_back(calls_.daemon("trainer.0").rate_factor());
  };
  calls_.evaluations = {1, 3, 4};
  ASSERT_EQ(Resume().state, JobState::kCompleted);
  EXPECT_THAT(factors, ElementsAre(0.1, 0.1 / 10, 0.1 / 10));
}

TEST_F(JobResumeTest, ABestEpochThatWasOnlySavedBecomesTheBest) {
  spec_.training.evaluate_every = 1;
  calls_.evaluations = {1, 4};
  // As if the service had died right behind the checkpoint.
  EndAfter("epoch-0002");
  ASSERT_EQ(Run().state, JobState::kCancelled);
  calls_.on_save = nullptr;
  fs::remove(Checkpoint("best"));  // A link to the other one.
  std::ofstream(Checkpoint("best")) << "5";
  calls_.evaluations = {2, 2, 3};
  ASSERT_EQ(Resume().state, JobState::kCompleted);
  EXPECT_EQ(Summary()["best_epoch"], 1);
  EXPECT_EQ(ReadRun("checkpoints/best.safetensors"), "10");
}

}  // namespace
}  // namespace fgnn
