#include "trainer_service/nn/cuda/kernels/pair_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/trainer_service/nn/cuda/kernels/random_lists.h"
#include "tests/unit/trainer_service/test_gpu.h"
#include "trainer_service/nn/cpu/pair_loss.h"

namespace fgnn {
namespace {

struct Pairs {
  std::vector<uint32_t> ends;
  uint32_t num_positives = 0;
  uint32_t num_seeds = 1;
  uint32_t columns = 1;
  std::vector<float> rows;

  uint32_t size() const { return static_cast<uint32_t>(ends.size() / 2); }
};
struct Loss {
  CrossEntropySum sum;
  std::vector<float> gradient;
};

// A third of the pairs are edges. Many have the first seed, some twice.
Pairs RandomPairs(uint32_t num_pairs, uint32_t num_seeds, uint32_t columns) {
  std::mt19937_64 random(num_pairs + num_seeds);
  Pairs pairs;
  for (uint32_t end = 0; end < 2 * num_pairs; ++end) {
    const uint64_t bits = random();
    pairs.ends.push_back(
        bits % 3 == 0 ? 0 : static_cast<uint32_t>((bits >> 8) % num_seeds));
  }
  pairs.num_positives = num_pairs / 3;
  pairs.num_seeds = num_seeds;
  pairs.columns = columns;
  pairs.rows = RandomFloats(uint64_t{num_seeds} * columns, columns);
  return pairs;
}

Loss ComputeOnGpu(const Pairs& pairs, uint64_t interleaving) {
  TestGpu gpu(interleaving);
  PairLossArgs args;
  args.pairs = gpu.Put(pairs.ends);
  args.num_pairs = pairs.size();
  args.num_positives = pairs.num_positives;
  args.num_seeds = pairs.num_seeds;
  args.columns = pairs.columns;
  args.rows = gpu.Put(pairs.rows);
  args.gradient = gpu.Room<float>(pairs.rows.size());
  args.losses = gpu.Room<double>(kMostSumBlocks);
  args.counts = gpu.Room<uint64_t>(kMostSumBlocks);
  args.workspace =
      gpu.Room<uint32_t>(PairLossWords(args.num_pairs, args.num_seeds));
  args.sum = gpu.Room<CrossEntropySum>(1);
  EXPECT_EQ(LaunchPairLoss(args, gpu.stream()), cudaSuccess);
  return {gpu.Get(args.sum, 1)[0], gpu.Get(args.gradient, pairs.rows.size())};
}

struct Expected {
  double loss = 0;
  uint64_t num_correct = 0;
  std::vector<double> gradient;
};

// Adds pair p, in f64.
void AddPair(const Pairs& pairs, uint32_t p, Expected* expected) {
  const size_t columns = pairs.columns;
  const size_t left = pairs.ends[2 * p] * columns;
  const size_t right = pairs.ends[2 * p + 1] * columns;
  double logit = 0;
  for (size_t c = 0; c < columns; ++c) {
    logit += double{pairs.rows[left + c]} * double{pairs.rows[right + c]};
  }
  const bool is_edge = p < pairs.num_positives;
  expected->loss += std::log1p(std::exp(is_edge ? -logit : logit));
  expected->num_correct += (logit > 0) == is_edge ? 1U : 0U;
  const double slope =
      (1 / (1 + std::exp(-logit)) - (is_edge ? 1 : 0)) / pairs.size();
  for (size_t c = 0; c < columns; ++c) {
    expected->gradient[left + c] += slope * double{pairs.rows[right + c]};
    expected->gradient[right + c] += slope * double{pairs.rows[left + c]};
  }
}

void ExpectLoss(const Pairs& pairs) {
  Expected expected;
  expected.gradient.resize(pairs.rows.size());
  for (uint32_t p = 0; p < pairs.size(); ++p) AddPair(pairs, p, &expected);
  const Loss loss = ComputeOnGpu(pairs, 0);
  EXPECT_NEAR(loss.sum.loss, expected.loss, 1e-6 * (1 + expected.loss));
  EXPECT_EQ(loss.sum.num_correct, expected.num_correct);
  for (size_t i = 0; i < loss.gradient.size(); ++i) {
    ASSERT_NEAR(double{loss.gradient[i]}, expected.gradient[i], 1e-6) << i;
  }
}

TEST(CudaPairLossTest, AgreesWithF64AtAnySize) {
  for (const uint32_t num_pairs : {0, 1, 31, 32, 33}) {
    for (const uint32_t columns : {1, 32, 33}) {
      SCOPED_TRACE(absl::StrCat(num_pairs, " pairs, ", columns, " columns"));
      ExpectLoss(RandomPairs(num_pairs, 40, columns));
    }
  }
}

TEST(CudaPairLossTest, AddsUpManyPairsOfASeed) {
  ExpectLoss(RandomPairs(300, 5, 64));
}

TEST(CudaPairLossTest, ComputesMorePairsThanThereAreWarps) {
  ExpectLoss(RandomPairs(kMostSumBlocks * 8 + 100, 500, 3));
}

TEST(CudaPairLossTest, AgreesWithTheCpu) {
  const Pairs pairs = RandomPairs(200, 50, 20);
  TaskView task;
  task.num_seeds = pairs.num_seeds;
  task.pairs = pairs.ends;
  task.num_positives = pairs.num_positives;
  ThreadTeam team(1);
  PairLoss cpu(&team);
  const auto expected = cpu.Compute(task, pairs.rows.data(), pairs.columns);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const Loss loss = ComputeOnGpu(pairs, 0);
  EXPECT_NEAR(loss.sum.loss / pairs.size(), expected->loss, 1e-6);
  EXPECT_EQ(loss.sum.num_correct, expected->num_correct);
  for (size_t i = 0; i < loss.gradient.size(); ++i) {
    ASSERT_NEAR(loss.gradient[i], cpu.gradient()[i], 1e-7) << i;
  }
}

TEST(CudaPairLossTest, DoesNotOverflow) {
  Pairs pairs = RandomPairs(2, 2, 1);
  pairs.ends = {0, 1, 0, 1};
  pairs.num_positives = 1;
  pairs.rows = {1e10F, -1e10F};
  const Loss loss = ComputeOnGpu(pairs, 0);
  EXPECT_DOUBLE_EQ(loss.sum.loss, double{1e10F * 1e10F});
  EXPECT_EQ(loss.sum.num_correct, 1U);
  EXPECT_EQ(loss.gradient, (std::vector<float>{5e9F, -5e9F}));
}

TEST(CudaPairLossTest, HasTheSameBitsInAnyOrderOfThreads) {
  const Pairs pairs = RandomPairs(150, 60, 37);
  const Loss first = ComputeOnGpu(pairs, 0);
  for (uint64_t seed = 1; seed < kInterleavings; ++seed) {
    const Loss loss = ComputeOnGpu(pairs, seed);
    EXPECT_EQ(loss.sum.loss, first.sum.loss);
    EXPECT_EQ(loss.gradient, first.gradient);
  }
}

}  // namespace
}  // namespace fgnn
