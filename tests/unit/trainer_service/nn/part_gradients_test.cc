// Gradients of the parts of a batch beside the whole batch's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/philox.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/nn/random_batch.h"
#include "tests/unit/trainer_service/nn/small_model.h"
#include "tests/unit/trainer_service/nn/split_batch.h"
#include "trainer_service/nn/cpu/cpu_model.h"

namespace fgnn {
namespace {

struct Kind {
  std::string name;
  std::string kind;
  std::string aggregator = "mean";
  std::string degree_norm = "both";
};

ModelOptions OptionsOf(const Kind& kind) {
  ModelOptions options = SmallModel();
  options.kind = kind.kind;
  options.dropout = options.input_dropout = options.attention_dropout = 0;
  options.aggregator = kind.aggregator;
  options.degree_norm = kind.degree_norm;
  options.heads = 3;
  return options;
}

uint32_t OwnerOf(uint32_t v, uint32_t num_parts) {
  return static_cast<uint32_t>(Mix64(v) % num_parts);
}

// What all parts make of a model, each on a thread of its own.
std::vector<Outcome> OutcomesOf(
    const ModelOptions& options, const std::vector<float>& weights,
    std::vector<std::unique_ptr<SplitPart>>& parts) {
  std::vector<Outcome> outcomes(parts.size());
  MemoryMessages messages;
  std::vector<std::thread> threads;
  for (size_t p = 0; p < parts.size(); ++p) {
    threads.emplace_back([&, p] {
      ThreadTeam team(1 + p % 2);
      const auto model = MakeCpuModel(options, &team).value();
      MemoryShuffle shuffle(&parts[p]->task, &messages);
      parts[p]->batch.shuffle = &shuffle;
      outcomes[p] = GradientOf(*model, weights, parts[p]->batch);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

// Expects that the parts' gradients sum to the whole batch's, and that their
// losses have its mean.
void ExpectSameSum(const RandomBatchOptions& of_batch,
                   const std::function<uint32_t(uint32_t, uint32_t)>& owner,
                   double tolerance) {
  RandomBatch random(of_batch);
  ThreadTeam team(1);
  const auto model = MakeCpuModel(of_batch.model, &team).value();
  const std::vector<float> weights = RandomWeights(*model, 5);
  const Outcome whole = GradientOf(*model, weights, random.batch());
  double scale = 0;
  for (const float value : whole.gradient) {
    scale = std::max(scale, std::abs(double{value}));
  }
  for (const uint32_t num_parts : {2, 3, 5}) {
    SCOPED_TRACE(absl::StrCat(num_parts, " parts"));
    auto parts = SplitBatch(random.batch(), num_parts,
                            [&](uint32_t v) { return owner(v, num_parts); });
    const std::vector<Outcome> outcomes =
        OutcomesOf(of_batch.model, weights, parts);
    double loss = 0;
    uint32_t num_correct = 0;
    std::vector<double> sum(whole.gradient.size());
    for (size_t p = 0; p < parts.size(); ++p) {
      loss += outcomes[p].result.loss * parts[p]->task.num_seeds;
      num_correct += outcomes[p].result.num_correct;
      for (size_t i = 0; i < sum.size(); ++i) {
        sum[i] += double{outcomes[p].gradient[i]};
      }
    }
    EXPECT_NEAR(loss / random.task().num_seeds, whole.result.loss,
                tolerance * std::abs(whole.result.loss));
    if (tolerance < 1e-4) {
      EXPECT_EQ(num_correct, whole.result.num_correct);
    }
    double worst = 0;
    for (size_t i = 0; i < sum.size(); ++i) {
      worst = std::max(worst, std::abs(sum[i] - double{whole.gradient[i]}));
    }
    EXPECT_LE(worst, tolerance * scale);
  }
}

class PartGradientsTest
    : public testing::TestWithParam<std::tuple<Kind, Precision>> {
 protected:
  static RandomBatchOptions BatchOf(const ModelOptions& model) {
    RandomBatchOptions options;
    options.model = model;
    options.num_seeds = 90;
    options.largest_degree = 9;
    return options;
  }
  static double Tolerance() {
    return std::get<1>(GetParam()) == Precision::kBfloat16 ? 5e-3 : 2e-6;
  }
  static ModelOptions Model() {
    ModelOptions options = OptionsOf(std::get<0>(GetParam()));
    options.precision = std::get<1>(GetParam());
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(
    AllKinds, PartGradientsTest,
    testing::Combine(
        testing::Values(Kind{"Sage", "graphsage"},
                        Kind{"Pool", "graphsage", "pool"}, Kind{"Gcn", "gcn"},
                        Kind{"GcnByMean", "gcn", "mean", "right"},
                        Kind{"Gin", "gin"}, Kind{"Gat", "gat"},
                        Kind{"Pinsage", "pinsage"}),
        testing::Values(Precision::kFloat32, Precision::kBfloat16)),
    [](const auto& test) {
      const Kind& kind = std::get<0>(test.param);
      return absl::StrCat(
          kind.name,
          std::get<1>(test.param) == Precision::kFloat32 ? "F32" : "Bf16");
    });

TEST_P(PartGradientsTest, SumToTheWholeBatchs) {
  ExpectSameSum(BatchOf(Model()), OwnerOf, Tolerance());
}

TEST_P(PartGradientsTest, OfNormalizedLayersThatAddTheirInputsToo) {
  ModelOptions model = Model();
  if (model.kind == "pinsage") GTEST_SKIP() << "has neither";
  model.normalization = "layer";
  model.residual = true;
  ExpectSameSum(BatchOf(model), OwnerOf, Tolerance());
}

// One part has no seed; of others, one has no vertex at all.
TEST_P(PartGradientsTest, OfPartsWithoutSeedsAndWithoutVertices) {
  const RandomBatchOptions batch = BatchOf(Model());
  ExpectSameSum(
      batch,
      [&](uint32_t v, uint32_t) {
        return v < batch.num_seeds ? 0U : static_cast<uint32_t>(Mix64(v) % 2);
      },
      Tolerance());
}

TEST(PartDropoutTest, EachPartDrawsMasksOfItsOwn) {
  ModelOptions model = OptionsOf({"Sage", "graphsage"});
  model.dropout = 0.5;
  RandomBatchOptions options;
  options.model = model;
  options.num_seeds = 60;
  RandomBatch random(options);
  ThreadTeam team(1);
  const std::vector<float> weights =
      RandomWeights(*MakeCpuModel(model, &team).value(), 5);
  auto parts =
      SplitBatch(random.batch(), 2, [](uint32_t v) { return OwnerOf(v, 2); });
  const std::vector<Outcome> first = OutcomesOf(model, weights, parts);
  const std::vector<Outcome> again = OutcomesOf(model, weights, parts);
  for (size_t p = 0; p < 2; ++p) {
    EXPECT_TRUE(SameBits(first[p].gradient, again[p].gradient));
  }
  // The same part under another number draws other masks.
  auto renamed = SplitBatch(random.batch(), 2,
                            [](uint32_t v) { return 1 - OwnerOf(v, 2); });
  const std::vector<Outcome> others = OutcomesOf(model, weights, renamed);
  EXPECT_FALSE(SameBits(first[0].gradient, others[1].gradient));
}

}  // namespace
}  // namespace fgnn
