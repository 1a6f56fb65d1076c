#include "trainer_service/daemon/diverged.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "shared/measured/score_fields.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class DivergedTest : public testing::Test {
 protected:
  DivergedTest() {
    view_.seq = BatchSeq(12);
    view_.num_seeds = 2;
    view_.input_nodes = input_nodes_;
    task_.task = &view_;
    task_.targets = targets_;
    task_.epoch = 1;
    task_.batch = 5;
  }
  absl::Status Check(double loss, Objective objective) const {
    return CheckLoss(loss, task_, 0.5, objective);
  }

  std::vector<uint32_t> input_nodes_ = {40, 17, 3};
  std::vector<float> targets_ = {1, 2, -2e20F, 5};  // Two of each seed.
  TaskView view_;
  TrainingBatch task_;
};

TEST_F(DivergedTest, ALossIsWhatAFloatHolds) {
  const double most = std::numeric_limits<float>::max();
  for (const double right : {0.0, 1.5, most, -most, 1e-50}) {
    EXPECT_THAT(Check(right, Objective::kValues), IsOk()) << right;
  }
  for (const double wrong :
       {most * 1.001, -1e39, 1e300, HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    EXPECT_THAT(Check(wrong, Objective::kValues),
                StatusIs(absl::StatusCode::kAborted,
                         HasSubstr("in epoch 2, batch 5 (12 of the job)")))
        << wrong;
  }
}

TEST_F(DivergedTest, NamesTheLargestTargetAndTheWayOut) {
  EXPECT_THAT(
      Check(4e40, Objective::kValues),
      StatusIs(
          absl::StatusCode::kAborted,
          AllOf(HasSubstr("the loss is 4e+40, more than a float holds, in"),
                HasSubstr("the largest target is -2e+20, of vertex 17: "),
                HasSubstr("scale the targets, lower training.learning_rate"),
                HasSubstr("training.clip_norm"))));
  EXPECT_THAT(Check(std::nan(""), Objective::kClasses),
              StatusIs(absl::StatusCode::kAborted,
                       AllOf(HasSubstr("the loss is nan in epoch"),
                             Not(HasSubstr("target")))));
}

TEST_F(DivergedTest, EveryScoreIsFinite) {
  SplitScore right;
  right.split = "valid";
  right.loss = 3;
  right.scores.macro_f1 = 0.5;
  EXPECT_THAT(CheckScores(right, Objective::kClasses), IsOk());
  for (const double wrong : {HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    SplitScore loss = right;
    loss.loss = wrong;
    EXPECT_THAT(CheckScores(loss, Objective::kClasses),
                StatusIs(absl::StatusCode::kAborted,
                         HasSubstr("the loss of split valid is ")));
    for (const ScoreField& field : AllScoreFields()) {
      SplitScore scores = right;
      scores.scores.*field.score = wrong;
      EXPECT_THAT(
          CheckScores(scores, Objective::kValues),
          StatusIs(absl::StatusCode::kAborted, HasSubstr("scale the targets")));
    }
  }
}

}  // namespace
}  // namespace fgnn
