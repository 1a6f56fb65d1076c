#include "tools/fgnn/reports/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace fgnn {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

v1::Job RunningJob() {
  v1::Job job;
  job.set_job_id("4f");
  job.set_state(v1::JOB_STATE_RUNNING);
  v1::JobProgress& progress = *job.mutable_progress();
  progress.set_phase("epoch 3");
  progress.set_epochs(10);
  progress.set_epochs_done(2);
  progress.set_batches_per_epoch(40);
  progress.set_batches_committed(100);
  progress.set_batches_expected(400);
  progress.set_loss(0.8123);
  progress.set_edges_per_second(12.4e6);
  progress.set_seconds_left(38);
  return job;
}

TEST(ProgressLineTest, ShowsEpochBatchLossRateAndTimeLeft) {
  EXPECT_EQ(ProgressLine(RunningJob(), 200),
            "epoch 3/10 [===============>              ] 20/40  loss 0.8123  "
            "12.4 M edges/s  38.0 s left");
}

TEST(ProgressLineTest, NeverIsWiderThanTheTerminal) {
  for (int width = 1; width <= 120; ++width) {
    EXPECT_LE(ProgressLine(RunningJob(), width).size(),
              static_cast<size_t>(width));
  }
}

TEST(ProgressLineTest, ANarrowTerminalKeepsEpochAndBatch) {
  EXPECT_EQ(ProgressLine(RunningJob(), 18), "epoch 3/10 20/40");
}

TEST(ProgressLineTest, UnknownTimeLeftAndRateAreLeftOut) {
  v1::Job job = RunningJob();
  job.mutable_progress()->set_seconds_left(-1);
  job.mutable_progress()->set_edges_per_second(0);
  EXPECT_THAT(ProgressLine(job, 200), EndsWith("loss 0.8123"));
}

TEST(ProgressLineTest, OutsideEpochsShowsThePhase) {
  v1::Job job = RunningJob();
  job.set_state(v1::JOB_STATE_PREPARING);
  job.mutable_progress()->set_phase("validating data");
  EXPECT_EQ(ProgressLine(job, 80), "preparing: validating data");
  job.set_state(v1::JOB_STATE_RUNNING);
  job.mutable_progress()->set_epochs_done(10);
  job.mutable_progress()->set_phase("testing");
  EXPECT_EQ(ProgressLine(job, 80), "running: testing");
}

TEST(ProgressLineTest, AnEvaluationShowsItsOwnProgress) {
  v1::Job job = RunningJob();
  job.mutable_progress()->set_phase("evaluating epoch 3");
  EXPECT_EQ(ProgressLine(job, 80), "evaluating epoch 3");
  job.mutable_progress()->set_evaluated(0.577);
  EXPECT_EQ(ProgressLine(job, 80),
            "evaluating epoch 3 [=================>            ] 57 %");
  EXPECT_EQ(ProgressLine(job, 30), "evaluating epoch 3 57 %");
  for (int width = 1; width <= 120; ++width) {
    EXPECT_LE(ProgressLine(job, width).size(), static_cast<size_t>(width));
  }
  job.mutable_progress()->set_epochs_done(10);
  job.mutable_progress()->set_phase("testing");
  EXPECT_THAT(ProgressLine(job, 80), StartsWith("testing [====="));
}

// Counters are written by several processes; a batch may be seen before the
// epoch that it opens.
TEST(ProgressLineTest, CountersThatDisagreeStayInRange) {
  v1::Job job = RunningJob();
  job.mutable_progress()->set_batches_committed(130);
  EXPECT_THAT(ProgressLine(job, 80), HasSubstr(" 40/40 "));
  job.mutable_progress()->set_batches_committed(3);
  EXPECT_THAT(ProgressLine(job, 80), HasSubstr(" 0/40 "));
  job.mutable_progress()->set_batches_committed(4000);
  EXPECT_THAT(ProgressLine(job, 80), HasSubstr("====]"));
}

TEST(EpochLineTest, LeavesOutWhatWasNotMeasured) {
  EXPECT_EQ(EpochLine(EpochMetrics::parse(
                          R"({"epoch":3,"loss":0.5,"valid_accuracy":0.7612,
                              "valid_macro_f1":0.5,"seconds":4.1})"),
                      10),
            "epoch 3/10  loss 0.5000  valid 76.12 %  F1 0.5000  4.1 s");
  EXPECT_EQ(EpochLine(EpochMetrics::parse(
                          R"({"epoch":1,"loss":1.5,"valid_accuracy":null})"),
                      3),
            "epoch 1/3  loss 1.5000");
  EXPECT_EQ(EpochLine(EpochMetrics::parse(R"({"epoch":1})"), 3), "epoch 1/3");
  EXPECT_EQ(EpochLine(EpochMetrics::parse(
                          R"({"epoch":1,"loss":0.5,"valid_mean_rank":12.5,
                              "valid_mrr":0.3,"seconds":4.1})"),
                      3),
            "epoch 1/3  loss 0.5000  valid MRR 0.3000  mean rank 12.50  4.1 s");
  EXPECT_EQ(EpochLine(EpochMetrics::parse(
                          R"({"epoch":1,"loss":0.5,"valid_rmse":1234.56,
                              "valid_mae":0.25,"valid_r2":-0.5})"),
                      3),
            "epoch 1/3  loss 0.5000  valid RMSE 1234.6  MAE 0.25  R2 -0.5000");
  EXPECT_EQ(EpochLine(EpochMetrics::parse(
                          R"({"epoch":1,"loss":0.5,"valid_micro_f1":0.75,
                              "valid_macro_f1":0.5})"),
                      3),
            "epoch 1/3  loss 0.5000  valid micro-F1 0.7500  macro-F1 0.5000");
}

TEST(ProgressReporterTest, OnATerminalTheBarIsWipedBeforeAnEpochsLine) {
  std::ostringstream out;
  ProgressReporter reporter(ProgressStyle::kTerminal, out);
  reporter.Update(RunningJob(), 40);
  reporter.Update(RunningJob(), 40);
  const std::string bar = out.str();
  EXPECT_THAT(bar, StartsWith("\r\x1b[Kepoch 3/10"));
  EXPECT_EQ(bar.find("epoch", 8), std::string::npos)
      << "an unchanged bar is not drawn again";
  reporter.FinishEpoch(EpochMetrics::parse(R"({"epoch":3,"loss":1})"),
                       RunningJob());
  EXPECT_EQ(out.str(), bar + "\r\x1b[Kepoch 3/10  loss 1.0000\n");
}

TEST(ProgressReporterTest, ElsewhereWritesALinePerPhaseAndEpoch) {
  std::ostringstream out;
  ProgressReporter reporter(ProgressStyle::kPlain, out);
  v1::Job job = RunningJob();
  job.set_state(v1::JOB_STATE_QUEUED);
  job.mutable_progress()->clear_phase();
  reporter.Update(job, 80);
  reporter.Update(job, 80);
  reporter.Update(RunningJob(), 80);
  reporter.FinishEpoch(EpochMetrics::parse(R"({"epoch":3,"loss":1})"),
                       RunningJob());
  reporter.Clear();
  EXPECT_EQ(out.str(), "queued\nepoch 3/10  loss 1.0000\n");
}

TEST(ProgressReporterTest, ElsewhereALongEvaluationHasALine) {
  std::ostringstream out;
  ProgressReporter reporter(ProgressStyle::kPlain, out);
  v1::Job job = RunningJob();
  job.mutable_progress()->set_phase("evaluating epoch 3");
  reporter.Update(job, 80);
  EXPECT_EQ(out.str(), "") << "it may end at once";
  for (const double share : {0.1, 0.9}) {
    job.mutable_progress()->set_evaluated(share);
    reporter.Update(job, 80);
  }
  EXPECT_EQ(out.str(), "running: evaluating epoch 3\n");
}

TEST(ProgressReporterTest, FailedCheckpointsAndTheirRecoveryAreSaidOnce) {
  std::ostringstream out;
  ProgressReporter reporter(ProgressStyle::kWarnings, out);
  v1::Job job = RunningJob();
  job.mutable_progress()->set_warning("no vertex of class 2");
  for (const char* text : {"", "disk full", "disk full", "written again"}) {
    job.mutable_progress()->set_checkpoint_warning(text);
    reporter.Update(job, 40);
  }
  EXPECT_EQ(out.str(),
            "warning: no vertex of class 2\nwarning: disk full\n"
            "warning: written again\n");
  // The job ends with a warning that no Update() has seen.
  out.str("");
  job.mutable_progress()->set_checkpoint_warning("disk full once more");
  reporter.TellWarnings(job);
  reporter.TellWarnings(job);
  EXPECT_EQ(out.str(), "warning: disk full once more\n");
}

TEST(ProgressReporterTest, AnEpochsLineHasTheBestSoFarAndTheLearningRate) {
  std::ostringstream out;
  ProgressReporter reporter(ProgressStyle::kPlain, out);
  v1::Job job = RunningJob();
  job.mutable_spec()->mutable_training()->set_learning_rate(0.003);
  job.mutable_spec()->mutable_training()->set_batches_per_step(1);
  for (const char* line :
       {R"({"epoch":1,"loss":1,"batches":4,"valid_accuracy":0.75})",
        R"({"epoch":2,"loss":1,"batches":4,"valid_accuracy":0.5})"}) {
    reporter.FinishEpoch(EpochMetrics::parse(line), job);
  }
  EXPECT_EQ(out.str(),
            "epoch 1/10  loss 1.0000  valid 75.00 %  best 75.00 % in epoch 1  "
            "rate 0.003\n"
            "epoch 2/10  loss 1.0000  valid 50.00 %  best 75.00 % in epoch 1  "
            "rate 0.003\n");
}

TEST(ProgressReporterTest, TheLowestErrorIsTheBest) {
  std::ostringstream out;
  ProgressReporter reporter(ProgressStyle::kPlain, out);
  v1::Job job = RunningJob();
  job.mutable_spec()->mutable_training()->set_task("node_regression");
  for (const char* line : {R"({"epoch":1,"loss":1,"valid_rmse":0.5})",
                           R"({"epoch":2,"loss":1,"valid_rmse":0.25})",
                           R"({"epoch":3,"loss":1,"valid_rmse":0.75})"}) {
    reporter.FinishEpoch(EpochMetrics::parse(line), job);
  }
  EXPECT_THAT(out.str(), HasSubstr("RMSE 0.25  best 0.25 in epoch 2\n"));
  EXPECT_THAT(out.str(), HasSubstr("RMSE 0.75  best 0.25 in epoch 2\n"));
}

TEST(ProgressReporterTest, QuietKeepsTheWarning) {
  for (const auto style : {ProgressStyle::kWarnings, ProgressStyle::kNothing}) {
    std::ostringstream out;
    ProgressReporter reporter(style, out);
    v1::Job job = RunningJob();
    job.set_state(v1::JOB_STATE_QUEUED);
    job.mutable_progress()->set_warning("no vertex of class 2");
    reporter.Update(job, 40);
    reporter.FinishEpoch(EpochMetrics::parse(R"({"epoch":1,"loss":1})"), job);
    EXPECT_EQ(out.str(), style == ProgressStyle::kNothing
                             ? ""
                             : "warning: no vertex of class 2\n");
  }
}

TEST(ProgressReporterTest, AWarningIsSaidOnce) {
  for (const auto style : {ProgressStyle::kPlain, ProgressStyle::kTerminal}) {
    std::ostringstream out;
    ProgressReporter reporter(style, out);
    v1::Job job = RunningJob();
    reporter.Update(job, 40);
    job.mutable_progress()->set_warning("no vertex of class 2");
    reporter.Update(job, 40);
    reporter.Update(job, 40);
    const size_t place = out.str().find("warning: no vertex of class 2\n");
    ASSERT_NE(place, std::string::npos);
    EXPECT_EQ(out.str().find("warning", place + 1), std::string::npos);
  }
}

TEST(ProgressReporterTest, JsonIsOneObjectPerLine) {
  std::ostringstream out;
  ProgressReporter reporter(ProgressStyle::kJson, out);
  reporter.Update(RunningJob(), 80);
  reporter.FinishEpoch(EpochMetrics::parse(R"({"epoch":3,"loss":1})"),
                       RunningJob());
  std::istringstream lines(out.str());
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  const auto progress = nlohmann::json::parse(line);
  EXPECT_EQ(progress["type"], "progress");
  EXPECT_EQ(progress["job_id"], "4f");
  EXPECT_EQ(progress["batches_committed"], 100);
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(nlohmann::json::parse(line)["type"], "epoch");
  EXPECT_FALSE(std::getline(lines, line));
}

}  // namespace
}  // namespace fgnn
