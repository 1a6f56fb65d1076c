#include "trainer_service/nn/cuda/kernels/cross_entropy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/trainer_service/nn/cuda/kernels/random_lists.h"
#include "tests/unit/trainer_service/test_gpu.h"

namespace fgnn {
namespace {

struct Loss {
  std::vector<float> gradient;
  CrossEntropySum sum = {0, 0};
};

struct Batch {
  std::vector<int64_t> labels;
  std::vector<float> logits;
  uint32_t num_classes = 1;
  float scale = 0.25F;
  float smoothing = 0;
};

Batch MakeBatch(uint32_t rows, uint32_t num_classes, uint64_t seed) {
  Batch batch;
  batch.num_classes = num_classes;
  batch.logits = RandomFloats(uint64_t{rows} * num_classes, seed);
  for (float& logit : batch.logits) logit *= 5;
  for (uint32_t r = 0; r < rows; ++r) {
    batch.labels.push_back(static_cast<int64_t>((r * 7 + seed) % num_classes));
  }
  return batch;
}

// In f64. Adds one row to the loss and the gradient.
void AddRow(const Batch& batch, size_t row, std::vector<double>* gradient,
            CrossEntropySum* sum) {
  const uint32_t classes = batch.num_classes;
  const float* const logits = &batch.logits[row * classes];
  const float* const best = std::max_element(logits, logits + classes);
  const auto label = static_cast<uint32_t>(batch.labels[row]);
  double total = 0;
  for (uint32_t c = 0; c < classes; ++c) total += std::exp(double{logits[c]});
  const double smoothing = double{batch.smoothing};
  for (uint32_t c = 0; c < classes; ++c) {
    const double wanted =
        smoothing / classes + (c == label ? 1 - smoothing : 0);
    const double logarithm = double{logits[c]} - std::log(total);
    sum->loss -= wanted * logarithm;
    gradient->push_back(double{batch.scale} * (std::exp(logarithm) - wanted));
  }
  sum->num_correct += best == logits + label ? 1 : 0;
}

Loss ComputeOnGpu(const Batch& batch, uint64_t interleaving) {
  TestGpu gpu(interleaving);
  CrossEntropyArgs args;
  args.rows = static_cast<uint32_t>(batch.labels.size());
  args.labels = gpu.Put(batch.labels);
  args.num_classes = batch.num_classes;
  args.scale = batch.scale;
  args.smoothing = batch.smoothing;
  args.logits = gpu.Put(batch.logits);
  args.of_rows = gpu.Room<CrossEntropySum>(args.rows);
  args.sum = gpu.Room<CrossEntropySum>(1);
  EXPECT_EQ(LaunchCrossEntropy(args, gpu.stream()), cudaSuccess);
  return {gpu.Get(args.logits, batch.logits.size()), gpu.Get(args.sum, 1)[0]};
}

void ExpectLoss(const Batch& batch) {
  std::vector<double> gradient;
  CrossEntropySum sum = {0, 0};
  for (size_t r = 0; r < batch.labels.size(); ++r) {
    AddRow(batch, r, &gradient, &sum);
  }
  const Loss loss = ComputeOnGpu(batch, 0);
  EXPECT_NEAR(loss.sum.loss, sum.loss, 1e-5 * (1 + sum.loss));
  EXPECT_EQ(loss.sum.num_correct, sum.num_correct);
  for (size_t i = 0; i < gradient.size(); ++i) {
    ASSERT_NEAR(double{loss.gradient[i]}, gradient[i], 1e-6) << i;
  }
}

TEST(CudaCrossEntropyTest, AgreesWithF64AtAnySize) {
  for (const uint32_t rows : {0, 1, 31, 32, 33}) {
    for (const uint32_t classes : {1, 2, 31, 32, 33, 100}) {
      SCOPED_TRACE(absl::StrCat(rows, " rows, ", classes, " classes"));
      Batch batch = MakeBatch(rows, classes, classes);
      ExpectLoss(batch);
      batch.smoothing = 0.1F;
      ExpectLoss(batch);
    }
  }
}

TEST(CudaCrossEntropyTest, AddsUpMoreRowsThanABlockHasThreads) {
  ExpectLoss(MakeBatch(300, 5, 1));
}

TEST(CudaCrossEntropyTest, PredictsTheFirstOfEqualLogits) {
  Batch batch;
  batch.num_classes = 70;
  batch.logits.assign(2 * 70, 1.0F);
  batch.labels = {0, 33};
  EXPECT_EQ(ComputeOnGpu(batch, 0).sum.num_correct, 1U);
}

TEST(CudaCrossEntropyTest, DoesNotOverflow) {
  Batch batch;
  batch.num_classes = 2;
  batch.logits = {1e30F, -1e30F};
  batch.labels = {0};
  const Loss loss = ComputeOnGpu(batch, 0);
  EXPECT_EQ(loss.sum.loss, 0);
  EXPECT_EQ(loss.gradient, (std::vector<float>{0, 0}));
}

TEST(CudaCrossEntropyTest, HasTheSameBitsInAnyOrderOfThreads) {
  const Batch batch = MakeBatch(70, 47, 3);
  const Loss first = ComputeOnGpu(batch, 0);
  for (uint64_t seed = 1; seed < kInterleavings; ++seed) {
    const Loss loss = ComputeOnGpu(batch, seed);
    EXPECT_EQ(loss.gradient, first.gradient);
    EXPECT_EQ(loss.sum.loss, first.sum.loss);
  }
}

}  // namespace
}  // namespace fgnn
