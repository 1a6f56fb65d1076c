#include "tools/fgnn/reports/job_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/status.h"
#include "tests/fakes/status_matchers.h"
#include "tools/fgnn/reports/score_text.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;

v1::Job JobIn(v1::JobState state) {
  v1::Job job;
  job.set_job_id("4fa1");
  job.set_state(state);
  return job;
}

std::string ListText(const v1::Job& job) {
  v1::ListJobsResponse jobs;
  *jobs.add_jobs() = job;
  return JobListText(jobs);
}

TEST(StatusOfJobTest, ACompletedJobIsOk) {
  EXPECT_THAT(StatusOfJob(JobIn(v1::JOB_STATE_COMPLETED)), IsOk());
}

TEST(StatusOfJobTest, AFailedJobKeepsItsCode) {
  v1::Job job = JobIn(v1::JOB_STATE_FAILED);
  job.set_error_code(static_cast<int>(absl::StatusCode::kInvalidArgument));
  job.set_error_message("features.npy: row 3 is not finite");
  EXPECT_THAT(StatusOfJob(job),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("4fa1"), HasSubstr("row 3"))));
  EXPECT_EQ(ExitCodeOfJob(job), 2);
  job.mutable_progress()->set_batches_committed(1);
  EXPECT_EQ(ExitCodeOfJob(job), 1) << "it was not refused but failed";

  job.mutable_progress()->clear_batches_committed();
  job.set_error_code(static_cast<int>(absl::StatusCode::kInternal));
  EXPECT_EQ(ExitCodeOfJob(job), 1);
}

TEST(StatusOfJobTest, AFailureWithoutACodeIsStillAnError) {
  EXPECT_THAT(StatusOfJob(JobIn(v1::JOB_STATE_FAILED)),
              StatusIs(absl::StatusCode::kInternal));
}

TEST(StatusOfJobTest, ACancelledJobIsExitCode1) {
  EXPECT_EQ(ExitCodeOfJob(JobIn(v1::JOB_STATE_CANCELLED)), 1);
}

// ESC, newline, and U+009B, which some terminals take for ESC and "[".
TEST(JobTextTest, ATerminalObeysNoWordsOfOthers) {
  const std::string words =
      "a\x1b[2Jb\nc\xc2\x9b"
      "d";
  const std::string shown = "a\\x1b[2Jb\\nc\\xc2\\x9bd";
  v1::Job job = JobIn(v1::JOB_STATE_FAILED);
  job.set_error_message(words);
  job.set_run_dir("/runs/" + words);
  job.mutable_progress()->set_warning(words);
  const std::string text = JobText(job);
  EXPECT_THAT(text, AllOf(HasSubstr("error           " + shown + "\n"),
                          HasSubstr("warning         " + shown + "\n"),
                          HasSubstr("run folder      /runs/" + shown + "\n")));
  EXPECT_THAT(ListText(job), HasSubstr("/runs/" + shown));
  for (const char control : {'\x1b', '\x9b'}) {
    EXPECT_EQ((text + ListText(job)).find(control), std::string::npos);
  }
}

TEST(JobTextTest, ShowsPhaseErrorAndMissingAccuracy) {
  v1::Job job = JobIn(v1::JOB_STATE_PREPARING);
  job.mutable_progress()->set_phase("validating data");
  job.mutable_progress()->mutable_test()->set_accuracy(0.7652);
  const std::string text = JobText(job);
  EXPECT_THAT(text, HasSubstr("preparing (validating data)"));
  EXPECT_THAT(text, HasSubstr("valid accuracy  -\n"));
  EXPECT_THAT(text, HasSubstr("76.52 %"));
}

TEST(JobTextTest, ShowsTheSharesOfHostsAndTheirSpeed) {
  v1::Job job = JobIn(v1::JOB_STATE_RUNNING);
  EXPECT_THAT(JobText(job), testing::Not(HasSubstr("shares")));
  v1::JobProgress& progress = *job.mutable_progress();
  progress.add_shares()->set_batches(3);
  progress.mutable_shares(0)->set_batches_per_second(12.34);
  progress.add_shares()->set_batches(1);
  progress.mutable_shares(1)->set_host("host1");
  progress.mutable_shares(1)->set_batches_per_second(4);
  EXPECT_THAT(JobText(job),
              HasSubstr("shares          head 3 (12.3 batches a second), "
                        "host1 1 (4.0 batches a second)\n"));
}

TEST(JobTextTest, ShowsThePartsOfBatchesThatAreSplit) {
  v1::Job job = JobIn(v1::JOB_STATE_RUNNING);
  EXPECT_THAT(JobText(job), testing::Not(HasSubstr("parts")));
  job.mutable_spec()->mutable_training()->set_parts(1);
  EXPECT_THAT(JobText(job), testing::Not(HasSubstr("parts")));
  job.mutable_spec()->mutable_training()->set_parts(4);
  EXPECT_THAT(JobText(job), HasSubstr("parts           4 of each batch\n"));
}

TEST(TestScoresTextTest, ShowsWhatThereIs) {
  v1::Job job;
  v1::JobProgress& progress = *job.mutable_progress();
  EXPECT_EQ(TestScoresText(job), "");
  progress.mutable_test()->set_accuracy(0.75);
  progress.mutable_test()->set_macro_f1(0.5);
  EXPECT_EQ(TestScoresText(job),
            "test accuracy   75.00 %\n"
            "test macro-F1   0.5000\n");
  progress.mutable_test()->set_roc_auc(0.8125);
  EXPECT_THAT(TestScoresText(job), HasSubstr("test ROC-AUC    0.8125\n"));
}

TEST(JobTextTest, LinkPredictionHasRanksInsteadOfAccuracy) {
  v1::Job job = JobIn(v1::JOB_STATE_COMPLETED);
  job.mutable_spec()->mutable_training()->set_task("link_prediction");
  v1::JobProgress& progress = *job.mutable_progress();
  EXPECT_THAT(JobText(job), HasSubstr("valid MRR       -\n"));
  progress.mutable_valid()->set_mrr(0.25);
  progress.mutable_test()->set_mrr(0.5);
  progress.mutable_test()->set_mean_rank(3.125);
  progress.mutable_test()->set_roc_auc(0.875);
  const std::string text = JobText(job);
  EXPECT_THAT(text, HasSubstr("valid MRR       0.2500\n"
                              "test MRR        0.5000\n"
                              "test mean rank  3.12\n"
                              "test ROC-AUC    0.8750\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("accuracy")));
  EXPECT_THAT(ListText(job), HasSubstr("MRR 0.5000"));
}

TEST(JobTextTest, JobsWithTargetsHaveTheirScores) {
  v1::Job job = JobIn(v1::JOB_STATE_COMPLETED);
  v1::JobProgress& progress = *job.mutable_progress();
  job.mutable_spec()->mutable_training()->set_task("node_regression");
  EXPECT_THAT(JobText(job), HasSubstr("valid RMSE      -\n"));
  progress.mutable_valid()->set_rmse(0.125);
  progress.mutable_test()->set_rmse(0.5);
  progress.mutable_test()->set_mae(0.25);
  progress.mutable_test()->set_r2(-1.5);
  EXPECT_THAT(JobText(job), HasSubstr("valid RMSE      0.125\n"
                                      "test RMSE       0.5\n"
                                      "test MAE        0.25\n"
                                      "test R2         -1.5000\n"));
  EXPECT_THAT(ListText(job),
              AllOf(HasSubstr("RMSE 0.125"), HasSubstr("RMSE 0.5")));
  job.mutable_spec()->mutable_training()->set_task(
      "multi_label_classification");
  progress.mutable_valid()->clear_rmse();
  progress.mutable_test()->clear_rmse();
  progress.mutable_valid()->set_micro_f1(0.5);
  progress.mutable_test()->set_micro_f1(0.75);
  progress.mutable_test()->set_macro_f1(0.25);
  EXPECT_THAT(JobText(job), HasSubstr("valid micro-F1  0.5000\n"
                                      "test micro-F1   0.7500\n"
                                      "test macro-F1   0.2500\n"));
  EXPECT_THAT(ListText(job), HasSubstr("micro-F1 0.7500"));
}

TEST(JobTextTest, SaysWhoseAJobIsAndWhyItWaits) {
  v1::Job job = JobIn(v1::JOB_STATE_QUEUED);
  job.set_user("ann");
  job.set_name("baseline");
  job.set_priority(-2);
  job.add_after("4fa0");
  job.set_waiting_for("waits for job 4fa0");
  job.set_run_seconds(3);
  job.set_attempts(1);
  job.set_retries(2);
  job.set_error_message("sampler.0 died");
  const std::string list = ListText(job);
  const std::string text = JobText(job);
  for (const std::string& shown : {list, text}) {
    for (const char* word : {"ann", "baseline", "-2", "waits for job 4fa0"}) {
      EXPECT_THAT(shown, HasSubstr(word));
    }
  }
  EXPECT_THAT(text, HasSubstr("failed before   sampler.0 died\n"));
  EXPECT_THAT(text, HasSubstr("failed starts   1, retries 2\n"));
  EXPECT_THAT(text, HasSubstr("took            3.0 s\n"));
}

TEST(JobTextTest, SaysWhichDevicesAJobWantsAndHas) {
  v1::Job job = JobIn(v1::JOB_STATE_QUEUED);
  job.mutable_spec()->add_devices("cpu:0-1");
  job.mutable_spec()->add_devices("cpu:3");
  EXPECT_THAT(JobText(job), HasSubstr("wants devices   cpu:0-1 cpu:3\n"));
  EXPECT_THAT(JobText(job), testing::Not(HasSubstr("has devices")));
  job.mutable_spec()->clear_devices();
  EXPECT_THAT(JobText(job), HasSubstr("wants devices   all of the service\n"));
  v1::DeviceRequest& request = *job.mutable_spec()->mutable_device_request();
  request.set_kind("cpu");
  request.set_min(1);
  request.set_max(2);
  EXPECT_THAT(JobText(job), HasSubstr("wants devices   1 to 2 of kind cpu\n"));
  job.mutable_spec()->mutable_hosts()->set_max(3);
  EXPECT_THAT(JobText(job),
              HasSubstr("1 to 2 of kind cpu, of at most 3 hosts\n"));
  job.add_devices("cpu:5");
  EXPECT_THAT(JobText(job), HasSubstr("has devices     cpu:5\n"));
  EXPECT_THAT(ListText(job), HasSubstr("cpu:5"));
}

TEST(StateNameTest, EveryNameIsReadBack) {
  for (int number = 1; v1::JobState_IsValid(number); ++number) {
    const auto state = static_cast<v1::JobState>(number);
    EXPECT_EQ(ParseStateName(StateName(state)).value(), state);
  }
  EXPECT_THAT(ParseStateName("asleep"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'asleep'"), HasSubstr("paused"))));
}

}  // namespace
}  // namespace fgnn
