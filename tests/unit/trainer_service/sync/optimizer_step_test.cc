#include "trainer_service/sync/optimizer_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/random_floats.h"

namespace fgnn {
namespace {

// Longer than one task of the team, and not a multiple of it.
std::vector<ParameterInfo> Parameters() {
  return {{.name = "weight", .shape = {101, 97}, .offset = 0, .decay = true},
          {.name = "bias", .shape = {101}, .offset = 9797}};
}
constexpr uint64_t kNumParameters = 9797 + 101;

constexpr OptimizerOptions kAdam;
constexpr OptimizerOptions kAdamW = {.kind = OptimizerKind::kAdamW};
constexpr OptimizerOptions kSgd = {.kind = OptimizerKind::kSgd,
                                   .learning_rate = 0.125};
constexpr OptimizerOptions kMomentum = {
    .kind = OptimizerKind::kSgd, .learning_rate = 0.125, .momentum = 0.5};

class OptimizerStepTest : public testing::Test {
 protected:
  OptimizerStepTest()
      : old_weights_(Random(1)),
        old_state_(2 * kNumParameters, 0.25F),
        gradients_({Random(2), Random(3), Random(4)}),
        examples_({1024, 1024, 17}) {}

  static std::vector<float> Random(uint64_t seed) {
    return NormalFloats(kNumParameters, seed);
  }

  struct Result {
    std::vector<float> weights = std::vector<float>(kNumParameters, -1);
    std::vector<float> state = std::vector<float>(2 * kNumParameters, -1);
    absl::Status status;

    bool SameBitsAs(const Result& other) const {
      return std::memcmp(weights.data(), other.weights.data(),
                         weights.size() * sizeof(float)) == 0 &&
             std::memcmp(state.data(), other.state.data(),
                         state.size() * sizeof(float)) == 0;
    }
  };

  Result Step(const OptimizerOptions& options, int threads) {
    Result result;
    result.state.resize(old_state_.size());
    StepTensors tensors;
    tensors.step_number = 3;
    tensors.old_weights = old_weights_;
    tensors.old_optimizer_state = old_state_;
    tensors.new_weights = absl::MakeSpan(result.weights);
    tensors.new_optimizer_state = absl::MakeSpan(result.state);
    for (const std::vector<float>& gradient : gradients_) {
      tensors.gradients.push_back(gradient);
    }
    tensors.batch_examples = examples_;
    tensors.parts = parts_;
    ThreadTeam team(threads);
    result.status = MakeOptimizerStep(parameters_, options, tensors, team);
    return result;
  }

  // The mean by seeds, while there are all three batches.
  double MeanGradient(size_t i) const {
    return (1024.0 * gradients_[0][i] + 1024.0 * gradients_[1][i] +
            17.0 * gradients_[2][i]) /
           (1024 + 1024 + 17);
  }

  void KeepOneBatch() {
    gradients_.resize(1);
    examples_ = {333};
  }

  // Expects the same bits for several numbers of threads.
  void ExpectSameBitsByAll(const OptimizerOptions& options) {
    const Result one = Step(options, 1);
    FGNN_ASSERT_OK(one.status);
    for (const int threads : {2, 3, 7}) {
      EXPECT_TRUE(Step(options, threads).SameBitsAs(one)) << threads;
    }
  }

  std::vector<ParameterInfo> parameters_ = Parameters();
  std::vector<float> old_weights_;
  std::vector<float> old_state_;
  std::vector<std::vector<float>> gradients_;
  std::vector<uint32_t> examples_;
  uint32_t parts_ = 1;
};

TEST_F(OptimizerStepTest, WeighsBatchesByTheirSeeds) {
  const Result result = Step(kAdam, 2);
  FGNN_ASSERT_OK(result.status);
  for (size_t i = 0; i < kNumParameters; ++i) {
    const double gradient = MeanGradient(i);
    ASSERT_NEAR(result.state[i], 0.9 * 0.25 + 0.1 * gradient, 1e-6) << i;
    ASSERT_NEAR(result.state[kNumParameters + i],
                0.999 * 0.25 + 0.001 * gradient * gradient, 1e-6)
        << i;
  }
}

TEST_F(OptimizerStepTest, OneBatchIsTakenAsItIs) {
  KeepOneBatch();
  old_state_.assign(old_state_.size(), 0);
  const Result result = Step(kAdam, 1);
  FGNN_ASSERT_OK(result.status);
  const float share = static_cast<float>(1 - 0.9);
  for (size_t i = 0; i < kNumParameters; ++i) {
    ASSERT_EQ(result.state[i], share * gradients_[0][i]) << i;
  }
}

TEST_F(OptimizerStepTest, GivesTheSameBitsForAnyNumberOfThreads) {
  for (const OptimizerOptions& options : {kAdam, kAdamW, kMomentum, kSgd}) {
    old_state_.resize(StateFloatsPerParameter(options) * kNumParameters);
    ExpectSameBitsByAll(options);
  }
}

TEST_F(OptimizerStepTest, EveryPieceIsStepped) {
  KeepOneBatch();
  old_state_.resize(kNumParameters);
  const Result result = Step(kMomentum, 2);
  FGNN_ASSERT_OK(result.status);
  for (size_t i = 0; i < kNumParameters; ++i) {
    const double direction = 0.5 * 0.25 + gradients_[0][i];
    ASSERT_NEAR(result.state[i], direction, 1e-6) << i;
    ASSERT_NEAR(result.weights[i], old_weights_[i] - 0.125 * direction, 2e-6)
        << i;
  }
}

class ClippingTest : public OptimizerStepTest {
 protected:
  ClippingTest() {
    old_state_.clear();
    for (size_t i = 0; i < kNumParameters; ++i) {
      const double gradient = MeanGradient(i);
      norm_ += gradient * gradient;
    }
    norm_ = std::sqrt(norm_);
  }
  static OptimizerOptions ClippedTo(double norm) {
    OptimizerOptions options = kSgd;
    options.clip_norm = norm;
    return options;
  }
  Result StepClippedTo(double norm) { return Step(ClippedTo(norm), 2); }

  double norm_ = 0;  // Of the step's gradient.
};

TEST_F(ClippingTest, AShorterGradientStaysAsItIs) {
  const Result free = StepClippedTo(0);
  FGNN_ASSERT_OK(free.status);
  EXPECT_TRUE(StepClippedTo(norm_ * 1.00001).SameBitsAs(free));
  EXPECT_FALSE(StepClippedTo(norm_ * 0.99).SameBitsAs(free));
}

TEST_F(ClippingTest, ALongerGradientIsScaledToTheLimit) {
  for (const double limit : {norm_ * 0.5, 1.0, 1e-3}) {
    const Result clipped = StepClippedTo(limit);
    FGNN_ASSERT_OK(clipped.status);
    for (size_t i = 0; i < kNumParameters; ++i) {
      ASSERT_NEAR(clipped.weights[i],
                  old_weights_[i] - 0.125 * MeanGradient(i) * limit / norm_,
                  1e-6)
          << i;
    }
  }
}

TEST_F(ClippingTest, TheSameBitsForAnyNumberOfThreads) {
  ExpectSameBitsByAll(ClippedTo(1));
}

TEST_F(ClippingTest, AGradientThatIsNoNumberIsNotHidden) {
  for (const float wrong : {NAN, INFINITY}) {
    gradients_[1][5000] = wrong;
    const Result result = StepClippedTo(1);
    EXPECT_THAT(result.status, Aborted("gradient of weight is"));
  }
}

// What overflows for each optimizer, though its gradient does not.
TEST_F(OptimizerStepTest, RefusesWhatIsNotFinite) {
  constexpr float kMost = std::numeric_limits<float>::max();
  const auto expect = [](const Result& result, const std::string& what) {
    EXPECT_THAT(result.status,
                StatusIs(absl::StatusCode::kAborted,
                         testing::AllOf(testing::StartsWith("in step 3 the "),
                                        testing::HasSubstr(what))));
  };
  for (const OptimizerOptions& options : {kAdam, kAdamW, kMomentum, kSgd}) {
    const auto gradients = gradients_;
    const auto old_weights = old_weights_;
    old_state_.assign(StateFloatsPerParameter(options) * kNumParameters, 0);
    for (const int threads : {1, 3}) {
      for (const float wrong : {NAN, INFINITY, -INFINITY}) {
        for (const size_t place : {size_t{0}, kNumParameters - 1}) {
          gradients_[1][place] = wrong;
          expect(Step(options, threads),
                 place == 0 ? "gradient of weight is" : "gradient of bias is");
          gradients_ = gradients;
        }
      }
      old_weights_[9000] = kMost;
      gradients_[0][9000] = gradients_[1][9000] = -kMost;
      if (options.kind == OptimizerKind::kSgd) {
        expect(Step(options, threads),
               "new value of weight is inf; its gradient is -3.3");
      } else {
        expect(Step(options, threads),
               "second moment of weight is inf; its gradient is -3.3");
      }
      gradients_ = gradients;
      old_weights_ = old_weights;
    }
  }
  old_state_.assign(kNumParameters, 0);
  old_state_[9800] = kMost;
  gradients_[0][9800] = gradients_[1][9800] = kMost;
  expect(Step(kMomentum, 2), "momentum of bias is inf; its gradient is 3.3");
}

TEST_F(OptimizerStepTest, ClippedGradientsOfAnySizeArePassed) {
  gradients_[0][5] = gradients_[1][5] = 1e30F;
  OptimizerOptions options = kAdam;
  options.clip_norm = 1;
  EXPECT_THAT(Step(options, 2).status, IsOk());
}

TEST_F(OptimizerStepTest, RefusesAMeasurementThatIsNotFinite) {
  parameters_[1].measured = true;
  gradients_[0][kNumParameters - 2] = INFINITY;
  EXPECT_THAT(Step(kAdam, 2).status, Aborted("gradient of bias is inf"));
}

TEST_F(OptimizerStepTest, TheLearningRateIsThatOfTheStep) {
  KeepOneBatch();
  old_state_.clear();
  OptimizerOptions options = kSgd;
  options.warmup_steps = 5;
  const Result result = Step(options, 1);  // Step 3.
  FGNN_ASSERT_OK(result.status);
  for (size_t i = 0; i < kNumParameters; ++i) {
    ASSERT_NEAR(result.weights[i], old_weights_[i] - 0.0625 * gradients_[0][i],
                1e-6)
        << i;
  }
}

TEST_F(OptimizerStepTest, DecaysMarkedParametersAlone) {
  for (OptimizerOptions options : {kAdam, kAdamW, kMomentum}) {
    old_state_.resize(StateFloatsPerParameter(options) * kNumParameters);
    const Result without = Step(options, 1);
    options.weight_decay = 0.1;
    const Result with = Step(options, 1);
    FGNN_ASSERT_OK(with.status);
    size_t differ = 0;
    for (size_t i = 0; i < 9797; ++i) {
      differ += with.weights[i] != without.weights[i] ? 1 : 0;
    }
    EXPECT_GT(differ, 9700U);
    for (size_t i = 9797; i < kNumParameters; ++i) {
      ASSERT_EQ(with.weights[i], without.weights[i]) << i;
    }
  }
}

TEST_F(OptimizerStepTest, WhatIsMeasuredMovesATenthOfTheWay) {
  for (OptimizerOptions options : {kAdam, kMomentum, kSgd}) {
    parameters_[1].measured = false;
    old_state_.resize(StateFloatsPerParameter(options) * kNumParameters, 0.5F);
    options.clip_norm = 10;
    options.weight_decay = 0.1;
    const Result other = Step(options, 1);
    parameters_[1].measured = true;
    const Result result = Step(options, 1);
    FGNN_ASSERT_OK(result.status);
    for (size_t i = 9797; i < kNumParameters; ++i) {
      ASSERT_NEAR(result.weights[i],
                  0.9 * old_weights_[i] + 0.1 * MeanGradient(i), 1e-6);
      for (size_t at = i; at < old_state_.size(); at += kNumParameters) {
        ASSERT_EQ(result.state[at], old_state_[at]);
      }
    }
    // It counts for no norm: the others' steps are longer.
    EXPECT_NE(result.weights[5], other.weights[5])
        << StateFloatsPerParameter(options);
  }
}

// The scales as they were before batches had parts, operation by operation.
std::vector<float> ScalesOfWholeBatches(const std::vector<uint32_t>& examples) {
  double all = 0;
  for (const uint32_t of_batch : examples) all += of_batch;
  std::vector<float> scales;
  for (const uint32_t of_batch : examples) {
    scales.push_back(static_cast<float>(of_batch / all));
  }
  return scales;
}

// Each part has the scale of its batch, to the bit of the whole batch's.
TEST(StepScalesTest, EachPartWeighsAsMuchAsItsBatch) {
  const std::vector<std::vector<uint32_t>> steps = {
      {1}, {7, 3}, {1024, 1024, 17}, {0, 5}, {UINT32_MAX, 1, 3, UINT32_MAX}};
  for (const std::vector<uint32_t>& batches : steps) {
    const std::vector<float> whole = ScalesOfWholeBatches(batches);
    for (const uint32_t parts : {1U, 2U, 3U, 7U, 16U}) {
      std::vector<uint32_t> of_parts;
      std::vector<float> expected;
      for (size_t batch = 0; batch < batches.size(); ++batch) {
        of_parts.insert(of_parts.end(), parts, batches[batch]);
        expected.insert(expected.end(), parts, whole[batch]);
      }
      EXPECT_EQ(StepScales(of_parts, parts), expected) << parts << " parts";
    }
  }
}

// Two batches of 3 and 5 examples in three parts each, some without seeds. Each
// part's gradient was divided by its batch's examples.
TEST_F(OptimizerStepTest, SumsThePartsOfABatch) {
  old_state_.clear();
  parts_ = 3;
  examples_ = {3, 3, 3, 5, 5, 5};
  gradients_.clear();
  for (uint64_t i = 0; i < examples_.size(); ++i) {
    gradients_.push_back(Random(20 + i));
  }
  const Result result = Step(kSgd, 2);
  FGNN_ASSERT_OK(result.status);
  for (size_t i = 0; i < kNumParameters; ++i) {
    double gradient = 0;
    for (size_t part = 0; part < 3; ++part) {
      gradient += 3.0 / 8 * gradients_[part][i];
      gradient += 5.0 / 8 * gradients_[3 + part][i];
    }
    ASSERT_NEAR(result.weights[i], old_weights_[i] - 0.125 * gradient, 1e-6)
        << i;
  }
  ExpectSameBitsByAll(kSgd);
}

TEST_F(OptimizerStepTest, RefusesWhatDoesNotFit) {
  examples_ = {0, 0, 0};
  EXPECT_THAT(Step(kAdam, 1).status, InvalidArgument("no seed"));
  examples_ = {1, 2, 3};
  gradients_[1].pop_back();
  EXPECT_THAT(Step(kAdam, 1).status, InvalidArgument("parameters"));
  gradients_[1] = gradients_[0];
  EXPECT_THAT(Step(kMomentum, 1).status, InvalidArgument("optimizer state"));
}

}  // namespace
}  // namespace fgnn
