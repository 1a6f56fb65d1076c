#include "trainer_service/sync/board_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "shared/queue/gradient_board.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/shared/queue/segment_for_tests.h"

namespace fgnn {
namespace {

using testing::ElementsAre;

constexpr uint64_t kParameters = 3;

class BoardExchangeTest : public testing::Test {
 protected:
  void SetUp() override {
    SegmentOptions options = SmallOptions();
    options.batches_per_step = 1;
    options.num_parameters = kParameters;
    segment_ = MakeSegment(options);
    GradientBoard(segment_.get(), kNoOwner).OpenForTraining(StepNumber(1));
  }

  static absl::Status Fill(const StepTensors& step, float value) {
    std::fill(step.new_weights.begin(), step.new_weights.end(), value);
    return absl::OkStatus();
  }

  std::unique_ptr<Segment> segment_;
};

TEST_F(BoardExchangeTest, AStepThatFailsIsLeftToOthers) {
  BoardExchange one(segment_.get(), OwnerIndex{1});
  BoardExchange other(segment_.get(), OwnerIndex{2});
  GradientBoard board(segment_.get(), OwnerIndex{3});
  EXPECT_THAT(one.TryStep([](const StepTensors& step) {
                   EXPECT_TRUE(step.is_initial());
                   return absl::InternalError("no");
                 })
                  .status(),
              Internal());
  EXPECT_EQ(board.version(), std::nullopt);
  FGNN_ASSERT_OK_AND_ASSIGN(const bool made,
                            other.TryStep([](const StepTensors& step) {
                              EXPECT_TRUE(step.is_initial());
                              EXPECT_EQ(step.new_weights.size(), kParameters);
                              return Fill(step, 1);
                            }));
  EXPECT_TRUE(made);
  EXPECT_THAT(board.weights(0), ElementsAre(1, 1, 1));
}

TEST_F(BoardExchangeTest, GivesAStepToOneTrainerOnceItsGradientsAreThere) {
  BoardExchange one(segment_.get(), OwnerIndex{1});
  BoardExchange other(segment_.get(), OwnerIndex{2});
  GradientBoard board(segment_.get(), OwnerIndex{3});
  const auto unexpected = [](const StepTensors&) {
    ADD_FAILURE() << "there is no step to make";
    return absl::OkStatus();
  };
  FGNN_ASSERT_OK(
      one.TryStep([](const StepTensors& step) { return Fill(step, 1); }));
  FGNN_ASSERT_OK_AND_ASSIGN(const bool early, one.TryStep(unexpected));
  EXPECT_FALSE(early);
  std::fill_n(board.gradient({BatchSeq(0)}).begin(), kParameters, 5.0F);
  BatchRecord record;
  record.batch_examples = 4;
  FGNN_ASSERT_OK(board.MarkDone({BatchSeq(0)}, record));
  FGNN_ASSERT_OK_AND_ASSIGN(
      const bool made, one.TryStep([&](const StepTensors& step) {
        EXPECT_FALSE(step.is_initial());
        EXPECT_EQ(step.step_number, 1U);
        EXPECT_THAT(step.old_weights, ElementsAre(1, 1, 1));
        EXPECT_THAT(step.gradients, ElementsAre(ElementsAre(5, 5, 5)));
        EXPECT_THAT(step.batch_examples, ElementsAre(4U));
        EXPECT_EQ(step.parts, 1U);
        EXPECT_FALSE(other.TryStep(unexpected).value());
        return Fill(step, 2);
      }));
  EXPECT_TRUE(made);
  EXPECT_EQ(board.version(), 1U);
  EXPECT_THAT(board.weights(1), ElementsAre(2, 2, 2));
  EXPECT_FALSE(other.TryStep(unexpected).value());
}

}  // namespace
}  // namespace fgnn
