// Jobs that go on from a checkpoint end as if nothing had happened.
#include <sys/stat.h>

#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/scheduler/run/job_resume_fixture.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(JobResumeTest, GoesOnAtTheEndOfAnEpoch) {
  RunUntil("epoch-0002");
  ExpectItGoesOnFrom("epoch-0002");
  ExpectEveryBatchOnce();
}

TEST_F(JobResumeTest, ARunIsNotResumedOnADatasetWithOtherContents) {
  RunUntil("epoch-0002");
  const std::map<std::string, std::string> before = RunFiles();
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
  EXPECT_EQ(RunFiles(), before);
  // Once they are what they were, it goes on.
  fs::remove_all(spec_.dataset);
  WriteRing(spec_.dataset, {});
  EXPECT_EQ(Resume().state, JobState::kCompleted);
  ExpectEveryBatchOnce();
}

TEST_F(JobResumeTest, ARunIsNotResumedInAnotherOrderOfItsBatches) {
  spec_.sampling.order = "matched";
  spec_.sampling.window = 16;
  RunUntil("epoch-0002");
  const std::map<std::string, std::string> before = RunFiles();
  const auto other_order = [&](const std::string& has) {
    return StatusIs(
        absl::StatusCode::kInvalidArgument,
        AllOf(HasSubstr("of a run with sampling.order matched in windows of "
                        "16, this job has " +
                        has),
              HasSubstr("set sampling.order and sampling.window back")));
  };
  spec_.sampling.window = 32;
  EXPECT_THAT(Resume().error, other_order("matched in windows of 32"));
  spec_.sampling.order = "drawn";
  EXPECT_THAT(Resume().error, other_order("drawn"));
  EXPECT_EQ(RunFiles(), before);
  spec_.sampling.order = "matched";
  spec_.sampling.window = 16;
  EXPECT_EQ(Resume().state, JobState::kCompleted);
  ExpectEveryBatchOnce();
}

TEST_F(JobResumeTest, TheSummaryCountsTheSecondsOfAllStarts) {
  EndAfter("epoch-0002");
  ASSERT_EQ(Run().state, JobState::kCancelled);
  nlohmann::json summary = Summary();
  summary["seconds"] = 1000;  // As if it had taken longer.
  std::ofstream(RunDir() / "summary.json") << summary;
  EndAfter("epoch-0003");
  ASSERT_EQ(Resume().state, JobState::kCancelled);
  const double after_two = Summary()["seconds"];
  EXPECT_GT(after_two, 1000);
  EXPECT_LT(after_two, 2000);
  calls_.on_save = nullptr;
  ASSERT_EQ(Resume().state, JobState::kCompleted);
  EXPECT_GT(Summary()["seconds"], after_two);
  EXPECT_LT(Summary()["seconds"], 2000);
}

TEST_F(JobResumeTest, ARunThatSharesDrawsGoesOnWithThem) {
  spec_.sampling.batch_dependency = 8;
  RunUntil("epoch-0002");
  EXPECT_EQ(Resume().state, JobState::kCompleted);
  ExpectEveryBatchOnce();
}

TEST_F(JobResumeTest, GoesOnWithinAnEpochWithItsSums) {
  spec_.training.checkpoint_steps = 2;  // Of three an epoch.
  RunUntil("epoch-0001-step-0000000004");
  ExpectItGoesOnFrom("epoch-0001-step-0000000004");
  ExpectEveryBatchOnce();
}

TEST_F(JobResumeTest, StepsAndTheEndOfAnEpochMayMeet) {
  spec_.training.checkpoint_every = 0;
  spec_.training.checkpoint_steps = 6;  // Of three an epoch.
  RunUntil("epoch-0002");
  ExpectItGoesOnFrom("epoch-0002");
  ExpectEveryBatchOnce();
}

// The scheduler died between the last checkpoint and the removal of older ones.
TEST_F(JobResumeTest, ARunBehindItsLastEpochKeepsNoMoreCheckpoints) {
  spec_.training.evaluate_every = 1;
  calls_.evaluations = {1, 2, 3, 4, 4};
  RunUntil("epoch-0004");
  std::ofstream(Checkpoint("epoch-0002")) << "old";
  ExpectItGoesOnFrom("epoch-0004");
  EXPECT_FALSE(HasCheckpoint("epoch-0002"));
  EXPECT_TRUE(HasCheckpoint("epoch-0003"));
  EXPECT_TRUE(HasCheckpoint("epoch-0004"));
  EXPECT_TRUE(HasCheckpoint("best"));
}

TEST_F(JobResumeTest, WhatWasDoneBehindTheCheckpointIsDoneAgain) {
  RunUntil("epoch-0003");
  fs::remove(Checkpoint("epoch-0003"));
  ExpectItGoesOnFrom("epoch-0002");
  ExpectEveryBatchOnce();
}

TEST_F(JobResumeTest, ADamagedCheckpointGivesWayToTheOneBefore) {
  RunUntil("epoch-0003");
  calls_.checkpoints.erase(Checkpoint("epoch-0003"));
  ExpectItGoesOnFrom("epoch-0002");
  ExpectEveryBatchOnce();
}

TEST_F(JobResumeTest, ADamagedStateOfTheRunGivesWayToo) {
  RunUntil("epoch-0003");
  calls_.checkpoints.at(Checkpoint("epoch-0003")).run_state = "{\"next_seq\":";
  ExpectItGoesOnFrom("epoch-0002");
  ExpectEveryBatchOnce();
}

// Whatever the newest one has become, the one before is sound.
TEST_F(JobResumeTest, WhateverCannotBeReadGivesWayToTheOneBefore) {
  fs::path newest;
  const std::vector<std::pair<std::string, std::function<void()>>> damages = {
      {"a FIFO", [&] { ::mkfifo(newest.c_str(), 0600); }},
      {"a folder with a file",
       [&] {
         fs::create_directory(newest);
         std::ofstream(newest / "file") << "x";
       }},
      {"a dangling link", [&] { fs::create_symlink("nothing", newest); }},
      {"a link to itself", [&] { fs::create_symlink(newest, newest); }},
      {"an empty file", [&] { std::ofstream(newest) << ""; }},
      {"a sparse file", [&] {
         std::ofstream(newest) << "5";
         fs::resize_file(newest, uint64_t{1} << 40);
       }}};
  for (const auto& [name, damage] : damages) {
    SCOPED_TRACE(name);
    RunUntil("epoch-0003");
    newest = Checkpoint("epoch-0003");
    fs::remove(newest);
    damage();
    ExpectItGoesOnFrom("epoch-0002");
    EXPECT_EQ(ReadRun("checkpoints/epoch-0003.safetensors"), "15");
  }
}

TEST_F(JobResumeTest, WhatATrainerCannotReadGivesWayToo) {
  for (const absl::Status& status :
       {absl::PermissionDeniedError("open epoch-0003: denied"),
        absl::NotFoundError("open epoch-0003: not there"),
        absl::InvalidArgumentError("epoch-0003 is no checkpoint")}) {
    SCOPED_TRACE(status);
    RunUntil("epoch-0003");
    calls_.unreadable[Checkpoint("epoch-0003")] = status;
    ExpectItGoesOnFrom("epoch-0002");
  }
}

TEST_F(JobResumeTest, WithoutASoundCheckpointItFailsAndNamesOne) {
  RunUntil("epoch-0002");
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
  RunUntil("epoch-0002");
  spec_.sampling.batch_size = 5;
  const Job job = Resume();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error,
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("epoch-0002.safetensors"),
                             HasSubstr("5 batches an epoch, this job has 4"),
                             HasSubstr("sampling.batch_size"))));
}

TEST_F(JobResumeTest, WhatElseIsOfAnotherJobIsNamed) {
  RunUntil("epoch-0002");
  const JobSpec spec = spec_;
  const auto expect_refused = [&](const std::string& words) {
    const Job job = Resume();
    EXPECT_EQ(job.state, JobState::kFailed);
    EXPECT_THAT(job.error, StatusIs(absl::StatusCode::kInvalidArgument,
                                    AllOf(HasSubstr("epoch-0002.safetensors: "),
                                          HasSubstr(words))));
    spec_ = spec;
  };
  spec_.training.epochs = 1;
  expect_refused(
      "has reached epoch 2, but training.epochs is 1; raise it to 2");
  spec_.training.batches_per_step = 1;
  expect_refused("training.batches_per_step");
  spec_.training.seed = 7;
  expect_refused("training.seed 1, this job has 7");
  spec_.sampling.batch_dependency = 8;
  expect_refused("sampling.batch_dependency 1, this job has 8");
}

TEST_F(JobResumeTest, TheBestEpochIsKnownAfterwards) {
  spec_.training.evaluate_every = 1;
  calls_.evaluations = {4, 1};
  RunUntil("epoch-0002");
  calls_.evaluations = {2, 2, 3};
  ASSERT_EQ(Resume().state, JobState::kCompleted);
  EXPECT_EQ(Summary()["best_epoch"], 1);
  EXPECT_EQ(Summary()["valid_accuracy"], 1.0);
  EXPECT_EQ(Summary()["valid_macro_f1"], 0.5);
  EXPECT_EQ(ReadRun("checkpoints/best.safetensors"), "5");
}

TEST_F(JobResumeTest, StopsEarlyWhereItWouldHaveWithoutABreak) {
  spec_.training.epochs = 8;
  spec_.training.patience = 3;
  spec_.training.evaluate_every = 1;
  calls_.evaluations = {3, 2, 3};
  RunUntil("epoch-0003");
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
  RunUntil("epoch-0002");
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
  RunUntil("epoch-0002");
  fs::remove(Checkpoint("best"));  // A link to the other one.
  std::ofstream(Checkpoint("best")) << "5";
  calls_.evaluations = {2, 2, 3};
  ASSERT_EQ(Resume().state, JobState::kCompleted);
  EXPECT_EQ(Summary()["best_epoch"], 2);
  EXPECT_EQ(ReadRun("checkpoints/best.safetensors"), "10");
}

TEST_F(JobRunTest, ClientsAreToldHowARunGoesOnOtherwise) {
  calls_.evaluations = {1, 1, 1, 1, 4, 1, 1, 4};
  spec_.training.epochs = 2;
  ASSERT_EQ(Run().state, JobState::kCompleted);
  spec_.training.epochs = 4;
  calls_.warning_of_load = "other code";
  const Job job = Resume();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(job.progress.checkpoint_warning, "other code");
}

}  // namespace
}  // namespace fgnn
