// What is checked before a job is queued.
#include "scheduler/files/submission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/fakes/default_job.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/scheduler/ring_dataset.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class SubmissionTest : public testing::Test {
 protected:
  void SetUp() override {
    spec_.dataset = folder_.string();
    WriteRing(folder_, {});
  }
  absl::Status Check() { return CheckSubmission(spec_, "", datasets_); }

  const TempFolder temp_;
  const fs::path folder_ = temp_ / "ring";
  JobSpec spec_ = DefaultJob();
  KnownDatasets datasets_;
};

TEST_F(SubmissionTest, WhatNeedsVerticesToValidateIsRefusedWithout) {
  spec_.training.patience = 2;
  EXPECT_THAT(Check(), IsOk());
  WriteRing(temp_ / "no_valid", {.with_valid = false});
  spec_.dataset = (temp_ / "no_valid").string();
  EXPECT_THAT(Check(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::AllOf(HasSubstr("training.patience is 2"),
                                      HasSubstr("valid.npy"))));
  spec_.training.patience = 0;
  spec_.training.schedule = "plateau";
  EXPECT_THAT(Check(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::AllOf(HasSubstr("training.schedule is plateau"),
                                      HasSubstr("valid.npy"))));
}

TEST_F(SubmissionTest, AJobThatEndsWithoutAScoreIsToldSo) {
  const DatasetFacts none = {};
  DatasetFacts valid;
  valid.has_valid = true;
  DatasetFacts test;
  test.has_test = true;
  for (const std::string task : {"node_classification", "link_prediction"}) {
    spec_.training.task = task;
    const bool links = spec_.training.predicts_links();
    EXPECT_THAT(NoteOnScores(spec_, none).value_or(""),
                HasSubstr(links ? "'fgnn dataset split-edges " + spec_.dataset
                                : "--train-fraction"));
    EXPECT_EQ(NoteOnScores(spec_, valid), std::nullopt);
    EXPECT_EQ(NoteOnScores(spec_, test), std::nullopt);
    spec_.training.evaluate_every = 0;
    EXPECT_EQ(NoteOnScores(spec_, none), std::nullopt);
    spec_.training.evaluate_every = 1;
  }
}

TEST_F(SubmissionTest, ACompleteRunIsResumedOnlyForMore) {
  const fs::path run = temp_ / "run";
  fs::create_directories(run / "checkpoints");
  const auto resume = [&] {
    return CheckResumption(spec_, run.string(), datasets_);
  };
  spec_.training.epochs = 3;
  EXPECT_THAT(resume(), IsOk());
  std::ofstream(run / "summary.json")
      << R"({"job_id": "one", "state": "completed", "epochs": 3,)"
      << R"( "batches_committed": 30, "best_epoch": 1})";
  EXPECT_THAT(resume(), IsOk()) << "its last checkpoint is gone";
  std::ofstream(run / "checkpoints/epoch-0003.safetensors") << "weights";
  EXPECT_THAT(resume(), StatusIs(absl::StatusCode::kInvalidArgument,
                                 HasSubstr("--set training.epochs=6")));
  spec_.training.epochs = 6;
  EXPECT_THAT(resume(), IsOk());
  spec_.training.patience = 2;
  EXPECT_THAT(resume(), StatusIs(absl::StatusCode::kInvalidArgument,
                                 HasSubstr("--set training.patience=0")));
  spec_.training.patience = 3;
  EXPECT_THAT(resume(), IsOk());
}

TEST_F(SubmissionTest, AJobOnOneHostIsRefusedTheRowsOfOneOwnerAlone) {
  const auto cut = [this](int owners) {
    WriteRing(folder_, {});
    std::ofstream(folder_ / "metadata.yaml", std::ios::app)
        << "host_rows: {book: abc, owners: " << owners
        << ", owner: 0, rows: 40, content: 1, own_content: 1}\n";
    std::ofstream(folder_ / "book.bin") << "unread";
  };
  cut(2);
  EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kInvalidArgument,
                                testing::AllOf(
                                    HasSubstr(spec_.dataset),
                                    HasSubstr("the rows of owner 0 of 2"),
                                    HasSubstr("; name devices of the hosts"))));
  spec_.hosts.max = 2;
  EXPECT_THAT(Check(), IsOk());
  spec_.hosts.max = 0;
  cut(1);
  EXPECT_THAT(Check(), IsOk());
}

TEST_F(SubmissionTest, LinkPredictionNeedsEdgesAndNoLabels) {
  spec_.training.task = "link_prediction";
  fs::remove(folder_ / "train.npy");
  EXPECT_THAT(Check(), IsOk());
  spec_.training.patience = 2;
  EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kInvalidArgument,
                                HasSubstr("valid_edges.npy")));
}

TEST_F(SubmissionTest, ATaskThatIsNotTheDatasetsIsRefusedWithThatWhichIs) {
  const auto check_in = [&](const char* folder, const char* task) {
    spec_.dataset = (temp_ / folder).string();
    spec_.training.task = task;
    return Check();
  };
  const auto refused = [](const std::string& what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what));
  };
  WriteRing(temp_ / "numbers", {.labels = RingLabels::kNumbers});
  WriteRing(temp_ / "sets", {.labels = RingLabels::kSets});
  EXPECT_THAT(check_in("numbers", "node_regression"), IsOk());
  EXPECT_THAT(check_in("sets", "multi_label_classification"), IsOk());
  EXPECT_THAT(check_in("numbers", "link_prediction"), IsOk());
  EXPECT_THAT(check_in("numbers", "node_classification"),
              refused("numbers has targets of 2 columns (f32) and no labels; "
                      "set training.task: node_regression"));
  EXPECT_THAT(check_in("numbers", "multi_label_classification"),
              refused("set training.task: node_regression"));
  EXPECT_THAT(check_in("sets", "node_regression"),
              refused("(u8) and no labels; set training.task: "
                      "multi_label_classification"));
  EXPECT_THAT(check_in("ring", "node_regression"),
              refused("ring has labels of 2 classes and no targets; set "
                      "training.task: node_classification, or import it again "
                      "with --labels-are numbers"));
  WriteRing(temp_ / "neither", {});
  fs::remove(temp_ / "neither/labels.npy");
  const std::string metadata =
      "name: ring\nnum_nodes: 40\nnum_edges: 40\n"
      "feature_columns: 2\n";
  std::ofstream(temp_ / "neither/metadata.yaml") << metadata;
  EXPECT_THAT(check_in("neither", "node_regression"),
              refused("targets.npy is missing"));
  EXPECT_THAT(check_in("neither", "node_classification"),
              refused("labels.npy is missing"));
}

class KnownDatasetsTest : public SubmissionTest {};

TEST_F(KnownDatasetsTest, SeesDamageAlsoWhereTheTimeIsPutBack) {
  FGNN_ASSERT_OK_AND_ASSIGN(const DatasetFacts facts, datasets_.Look(spec_));
  EXPECT_EQ(facts.shape.num_train, 20U);
  EXPECT_TRUE(facts.has_valid);
  const fs::path file = folder_ / "csc_indptr.npy";
  const auto time = fs::last_write_time(file);
  std::fstream(file, std::ios::in | std::ios::out).put('?');
  fs::last_write_time(file, time);
  EXPECT_THAT(datasets_.Look(spec_),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(KnownDatasetsTest, SeesWhatBecomesOfAFolder) {
  FGNN_ASSERT_OK(datasets_.Look(spec_).status());
  fs::remove_all(folder_);
  EXPECT_THAT(datasets_.Look(spec_), StatusIs(absl::StatusCode::kNotFound));
  WriteRing(folder_, {.num_train = 7, .with_valid = false});
  FGNN_ASSERT_OK_AND_ASSIGN(const DatasetFacts facts, datasets_.Look(spec_));
  EXPECT_EQ(facts.shape.num_train, 7U);
  EXPECT_FALSE(facts.has_valid);
}

TEST_F(KnownDatasetsTest, KnowsVerticesFromEdges) {
  FGNN_ASSERT_OK(datasets_.Look(spec_).status());
  spec_.training.task = "link_prediction";
  FGNN_ASSERT_OK_AND_ASSIGN(const DatasetFacts facts, datasets_.Look(spec_));
  EXPECT_EQ(facts.shape.num_train, 40U);
  EXPECT_FALSE(facts.has_valid);
}

}  // namespace
}  // namespace fgnn
