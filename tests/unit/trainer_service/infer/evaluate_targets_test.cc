#include "trainer_service/infer/evaluate_targets.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "shared/base/files/unique_fd.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/infer/small_graph.h"
#include "trainer_service/infer/scores.h"
#include "trainer_service/infer/shared_inference.h"

namespace fgnn {
namespace {

constexpr uint32_t kTargetColumns = 5;

// Targets of all vertices.
class Targets {
 public:
  explicit Targets(TargetType type) : type_(type) {
    std::mt19937_64 random(7);
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < kNodes * kTargetColumns; ++i) {
      numbers_.push_back(normal(random));
      // Nobody has the last class.
      bits_.push_back(i % kTargetColumns == 4 ? 0 : random() % 3 == 0);
    }
  }

  void Forget(GlobalId v) {
    numbers_[v * kTargetColumns + 2] = std::numeric_limits<float>::quiet_NaN();
    bits_[v * kTargetColumns + 2] = kNoBit;
  }
  double number(size_t v, size_t c) const {
    return double{numbers_[v * kTargetColumns + c]};
  }
  bool bit(size_t v, size_t c) const {
    return bits_[v * kTargetColumns + c] == 1;
  }
  TargetView view() const {
    return {type_ == TargetType::kFloat32
                ? reinterpret_cast<const std::byte*>(numbers_.data())
                : reinterpret_cast<const std::byte*>(bits_.data()),
            type_, kNodes, kTargetColumns};
  }

 private:
  const TargetType type_;
  std::vector<float> numbers_;
  std::vector<uint8_t> bits_;
};

Objective ObjectiveFor(TargetType type) {
  return type == TargetType::kFloat32 ? Objective::kValues
                                      : Objective::kLabelSets;
}

class EvaluateTargetsTest : public testing::TestWithParam<TargetType> {
 protected:
  EvaluateTargetsTest() : targets_(GetParam()) {
    for (int64_t v = int64_t{kNodes} - 1; v > 40; --v) split_.push_back(v);
  }

  absl::StatusOr<std::vector<SplitScore>> Evaluate(
      int threads, SharedInference* shared = nullptr) const {
    SmallGraph world(3, kTargetColumns, RandomFeatures(), threads,
                     ObjectiveFor(GetParam()));
    InferenceInput input = world.Input();
    input.shared = shared;
    return EvaluateTargets(input, targets_.view(), {split_, {}, {1, 2, 3}});
  }

  Targets targets_;
  std::vector<int64_t> split_;
};

TEST_P(EvaluateTargetsTest, AnyNumberOfThreadsAndProcessesGivesTheSameBits) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto expected, Evaluate(1));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto by_three, Evaluate(3));
  EXPECT_EQ(by_three, expected);
  const UniqueFd memory(
      ::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  std::vector<absl::StatusOr<std::vector<SplitScore>>> scores(3);
  std::vector<std::thread> threads;
  for (auto& mine : scores) {
    threads.emplace_back([&] {
      const auto shared =
          SharedInference::Open(Duplicate(memory.get())).value();
      mine = Evaluate(2, shared.get());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : scores) {
    FGNN_ASSERT_OK(mine.status());
    EXPECT_EQ(*mine, expected);
  }
  // With less than a page of each array.
  SmallGraph world(3, kTargetColumns, RandomFeatures(), 1,
                   ObjectiveFor(GetParam()));
  struct stat status = {};
  ASSERT_EQ(::fstat(memory.get(), &status), 0);
  const uint64_t planned =
      InferenceArrayBytes(world.Input()) +
      TargetScoreBytes(world.Input().model->options(), split_.size() + 3);
  EXPECT_GE(static_cast<uint64_t>(status.st_size), planned);
  EXPECT_LE(static_cast<uint64_t>(status.st_size), planned + 9 * 4096);
}

TEST_P(EvaluateTargetsTest, AVertexWithoutATargetIsRefused) {
  targets_.Forget(77);
  EXPECT_THAT(Evaluate(1), InvalidArgument("vertex 77"));
}

TEST_P(EvaluateTargetsTest, ASplitWithoutVerticesHasNoScores) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto scores, Evaluate(1));
  EXPECT_EQ(scores[1], SplitScore());
}

INSTANTIATE_TEST_SUITE_P(Types, EvaluateTargetsTest,
                         testing::Values(TargetType::kFloat32,
                                         TargetType::kBits),
                         [](const auto& instance) {
                           return instance.param == TargetType::kFloat32
                                      ? "Numbers"
                                      : "Sets";
                         });

// As they are defined, of one column after the other.
TEST(EvaluateValuesTest, ScoresAreTheMeansOverTheColumns) {
  SmallGraph world(2, kTargetColumns, RandomFeatures(), 2, Objective::kValues);
  const std::vector<float> predictions = world.Logits();
  const Targets targets(TargetType::kFloat32);
  const std::vector<int64_t> split = {900, 3, 17, 512, 44, 1200};
  FGNN_ASSERT_OK_AND_ASSIGN(
      const auto scores,
      EvaluateTargets(world.Input(), targets.view(), {{5, 6}, split}));
  double loss = 0;
  double rmse = 0;
  double mae = 0;
  double r2 = 0;
  for (size_t c = 0; c < kTargetColumns; ++c) {
    double mean = 0;
    double squares = 0;
    double errors = 0;
    double spread = 0;
    for (const int64_t v : split) mean += targets.number(v, c) / 6;
    for (const int64_t v : split) {
      const double error =
          targets.number(v, c) - double{predictions[v * kTargetColumns + c]};
      squares += error * error;
      errors += std::abs(error);
      spread += std::pow(targets.number(v, c) - mean, 2);
    }
    loss += squares / 6 / kTargetColumns;
    rmse += std::sqrt(squares / 6) / kTargetColumns;
    mae += errors / 6 / kTargetColumns;
    r2 += (1 - squares / spread) / kTargetColumns;
  }
  EXPECT_EQ(scores[1].num_vertices, 6U);
  EXPECT_NEAR(scores[1].loss, loss, 1e-12 * loss);
  EXPECT_NEAR(*scores[1].scores.rmse, rmse, 1e-12 * rmse);
  EXPECT_NEAR(*scores[1].scores.mae, mae, 1e-12 * mae);
  EXPECT_NEAR(*scores[1].scores.r2, r2, 1e-12 * (1 + std::abs(r2)));
}

TEST(EvaluateSetsTest, ScoresAreThoseOfAllAndOfEachClass) {
  SmallGraph world(2, kTargetColumns, RandomFeatures(), 2,
                   Objective::kLabelSets);
  const std::vector<float> logits = world.Logits();
  const Targets targets(TargetType::kBits);
  std::vector<int64_t> split;
  for (int64_t v = 100; v < 1100; v += 3) split.push_back(v);
  FGNN_ASSERT_OK_AND_ASSIGN(
      const auto scores,
      EvaluateTargets(world.Input(), targets.view(), {{5, 6}, split}));
  double loss = 0;
  double macro = 0;
  double all_right = 0;
  double all_wrong = 0;
  for (size_t c = 0; c < kTargetColumns; ++c) {
    double right = 0;
    double wrong = 0;
    for (const int64_t v : split) {
      const double logit = double{logits[v * kTargetColumns + c]};
      const bool wanted = targets.bit(v, c);
      right += wanted && logit > 0 ? 1 : 0;
      wrong += wanted != (logit > 0) ? 1 : 0;
      loss += std::log1p(std::exp(wanted ? -logit : logit));
    }
    if (right > 0) macro += 2 * right / (2 * right + wrong) / kTargetColumns;
    all_right += right;
    all_wrong += wrong;
  }
  loss /= static_cast<double>(split.size() * kTargetColumns);
  EXPECT_GT(all_right, 0);
  EXPECT_NEAR(scores[1].loss, loss, 1e-6 * loss);
  EXPECT_DOUBLE_EQ(*scores[1].scores.micro_f1,
                   2 * all_right / (2 * all_right + all_wrong));
  EXPECT_DOUBLE_EQ(*scores[1].scores.macro_f1, macro);
}

// scikit-learn says so too.
TEST(ScoreValuesTest, TargetsThatAreAllTheSame) {
  const std::vector<float> targets = {2, 2, 2};
  const TargetView view = {reinterpret_cast<const std::byte*>(targets.data()),
                           TargetType::kFloat32, 3, 1};
  const std::vector<float> right = {2, 2, 2};
  const std::vector<float> wrong = {2, 2, 5};
  EXPECT_EQ(ScoreValues(view, {0, 1, 2}, right.data()).r2, 1);
  EXPECT_EQ(ScoreValues(view, {0, 1, 2}, wrong.data()).r2, 0);
  EXPECT_EQ(ScoreValues(view, {0}, right.data()).r2, std::nullopt);
  EXPECT_EQ(ScoreValues(view, {2}, wrong.data() + 2).rmse, 3);
}

TEST(SetScoresTest, AClassThatNothingNamesCountsAsZero) {
  const std::vector<ClassCounts> counts = {{.right = 1, .named = 2}, {}};
  EXPECT_EQ(MacroF1OfSets(counts), 0.5);
  EXPECT_EQ(MicroF1(counts), 1);
  EXPECT_EQ(MicroF1({}), 0);
  EXPECT_EQ(MacroF1OfSets({}), 0);
}

}  // namespace
}  // namespace fgnn
