#include "scheduler/files/run_summary.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

#include "nlohmann/json.hpp"
#include "shared/measured/score_fields.h"

namespace fgnn {
namespace {

TEST(RunSummaryTest, TheSummaryHasTheFieldsOfTheDesign) {
  const auto json = nlohmann::json::parse(
      SummaryToJson({.job_id = "j",
                     .state = JobState::kCompleted,
                     .epochs = 2,
                     .seconds = 1.5,
                     .preparation = {{"measuring", 0.25}},
                     .batches_committed = 10,
                     .batches_expected = 10,
                     .scores = {.valid = {.accuracy = 0.5}, .best_epoch = 1},
                     .restarts = 3,
                     .peak_bytes = 77,
                     .seed = 9}));
  std::set<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.insert(key);
  EXPECT_EQ(keys,
            (std::set<std::string>{
                "job_id", "state", "epochs", "seconds", "preparation_seconds",
                "batches_committed", "batches_expected", "valid_accuracy",
                "valid_macro_f1", "test_accuracy", "test_macro_f1",
                "test_roc_auc", "best_epoch", "switches", "restarts",
                "peak_bytes", "seed", "stopped_early"}));
  EXPECT_EQ(json["state"], "completed");
  EXPECT_EQ(json["best_epoch"], 1);
  EXPECT_EQ(json["preparation_seconds"]["measuring"], 0.25);
  EXPECT_EQ(json["valid_accuracy"], 0.5);
  EXPECT_TRUE(json["test_accuracy"].is_null());
  EXPECT_EQ(json["peak_bytes"], 77);
}

TEST(RunSummaryTest, TheSummaryOfTargetsHasTheirScores) {
  RunSummary summary;
  summary.scores = {.valid = {.rmse = 0.5, .mae = 0.25, .r2 = 0.75},
                    .test = {.rmse = 2, .mae = 1},
                    .objective = Objective::kValues};
  const auto values = nlohmann::json::parse(SummaryToJson(summary));
  EXPECT_EQ(values["valid_rmse"], 0.5);
  EXPECT_EQ(values["valid_mae"], 0.25);
  EXPECT_EQ(values["valid_r2"], 0.75);
  EXPECT_EQ(values["test_rmse"], 2);
  EXPECT_EQ(values["test_mae"], 1);
  EXPECT_TRUE(values["test_r2"].is_null());
  summary.scores = {.test = {.macro_f1 = 0.25, .micro_f1 = 0.5},
                    .objective = Objective::kLabelSets};
  const auto sets = nlohmann::json::parse(SummaryToJson(summary));
  EXPECT_TRUE(sets["valid_micro_f1"].is_null());
  EXPECT_EQ(sets["test_micro_f1"], 0.5);
  EXPECT_EQ(sets["test_macro_f1"], 0.25);
  for (const auto& json : {values, sets}) {
    EXPECT_FALSE(json.contains("test_accuracy"));
    EXPECT_FALSE(json.contains("test_roc_auc"));
  }
}

TEST(RunSummaryTest, FactsOfACompletedRunAreRead) {
  RunSummary summary;
  summary.job_id = "some-job";
  summary.state = JobState::kCompleted;
  summary.epochs = 3;
  summary.batches_committed = 12;
  for (const ScoreField& field : AllScoreFields()) {
    SCOPED_TRACE(field.key);
    summary.scores = {};
    for (const Objective objective :
         {Objective::kClasses, Objective::kLinks, Objective::kValues,
          Objective::kLabelSets}) {
      summary.scores.objective = objective;
      summary.scores.test.*field.score = 0.25;
      const auto run = ParseCompletedRun(SummaryToJson(summary));
      ASSERT_TRUE(run.has_value());
      EXPECT_EQ(run->job_id, "some-job");
      EXPECT_EQ(run->epochs, 3);
      EXPECT_EQ(run->batches_committed, 12);
      bool has_it = false;
      for (const ScoreField& of_objective : ScoreFields(objective)) {
        has_it |= of_objective.score == field.score;
      }
      EXPECT_EQ(run->test.*field.score,
                has_it ? std::optional(0.25) : std::nullopt);
    }
  }
}

// The folder is its owner's, who may put anything there.
TEST(RunSummaryTest, OtherSummariesAreOfNoCompletedRun) {
  for (const char* text :
       {"[3", "[]", "3", R"({"state": "completed"})",
        R"({"state": "completed", "job_id": 3, "epochs": 3,
            "batches_committed": 3})",
        R"({"state": "completed", "job_id": "a", "epochs": -3,
            "batches_committed": 3})",
        R"({"state": "completed", "job_id": "a", "epochs": 3,
            "batches_committed": "3"})",
        R"({"state": "cancelled", "job_id": "a", "epochs": 3,
            "batches_committed": 3})"}) {
    EXPECT_EQ(ParseCompletedRun(text), std::nullopt) << text;
  }
  const auto run = ParseCompletedRun(
      R"({"state": "completed", "job_id": "a", "epochs": 3,
            "batches_committed": 3, "test_accuracy": "high"})");
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->test.accuracy, std::nullopt);
}

}  // namespace
}  // namespace fgnn
