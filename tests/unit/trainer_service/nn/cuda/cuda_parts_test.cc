// Parts of a batch on devices, beside those of cores and the whole batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/philox.h"
#include "tests/fakes/cuda/fake_cudart.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/nn/cuda/cuda_model_kinds.h"
#include "tests/unit/trainer_service/nn/cuda/device_gradient.h"
#include "tests/unit/trainer_service/nn/split_batch.h"
#include "tests/unit/trainer_service/test_gpu.h"
#include "trainer_service/nn/cpu/cpu_model.h"

namespace fgnn {
namespace {

using Parts = std::vector<std::unique_ptr<SplitPart>>;
using Owner = std::function<uint32_t(uint32_t v)>;

Owner OwnersOf(uint32_t num_parts) {
  return [num_parts](uint32_t v) {
    return static_cast<uint32_t>(Mix64(v) % num_parts);
  };
}

// Calls compute(part) for all parts of a batch at once, each with an exchange.
// Returns what they made.
std::vector<Outcome> ForAll(
    const Parts& parts,
    const std::function<absl::StatusOr<Outcome>(const TrainingBatch&)>&
        compute) {
  std::vector<Outcome> outcomes(parts.size());
  MemoryMessages messages;
  std::vector<std::thread> threads;
  for (size_t p = 0; p < parts.size(); ++p) {
    threads.emplace_back([&, p] {
      MemoryShuffle shuffle(&parts[p]->task, &messages);
      // A core drops features in their place.
      std::vector<float> features = parts[p]->features;
      TrainingBatch batch = parts[p]->batch;
      batch.features = absl::MakeSpan(features);
      batch.shuffle = &shuffle;
      absl::StatusOr<Outcome> outcome = compute(batch);
      EXPECT_THAT(outcome, IsOk());
      if (outcome.ok()) outcomes[p] = *std::move(outcome);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

std::vector<Outcome> OnCores(const ModelOptions& model,
                             const std::vector<float>& weights,
                             const Parts& parts) {
  return ForAll(parts, [&](const TrainingBatch& batch) {
    ThreadTeam team(1);
    return GradientOf(*MakeCpuModel(model, &team).value(), weights, batch);
  });
}

std::vector<Outcome> OnDevices(const ModelOptions& model,
                               const std::vector<float>& weights,
                               const Parts& parts) {
  return ForAll(parts, [&](const TrainingBatch& batch) {
    DeviceGradient device(model);
    device.Upload(batch);
    return device.Compute(weights, batch);
  });
}

std::vector<float> WeightsFor(const ModelOptions& model) {
  ThreadTeam team(1);
  return RandomWeights(*MakeCpuModel(model, &team).value(), 5);
}

double LengthOf(const std::vector<float>& gradient) {
  double squares = 0;
  for (const float value : gradient) squares += double{value} * double{value};
  return std::sqrt(squares);
}

// Returns the distance of a from b.
double DistanceBetween(std::vector<float> a, const std::vector<float>& b) {
  for (size_t i = 0; i < b.size(); ++i) a[i] -= b[i];
  return LengthOf(a);
}

std::vector<float> SumOf(const std::vector<Outcome>& outcomes) {
  std::vector<float> sum = outcomes[0].gradient;
  for (size_t p = 1; p < outcomes.size(); ++p) {
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += outcomes[p].gradient[i];
  }
  return sum;
}

// Parts have no pairs, and none sees all rows.
bool HasParts(const Kind& kind) {
  return kind.objective != Objective::kLinks && kind.normalization != "batch";
}

class CudaPartsTest : public CudaModelTest {
 protected:
  void SetUp() override {
    if (!HasParts(GetParam())) GTEST_SKIP() << "has no parts";
    SetInterleaving(0);
  }
  bool rounds() const { return GetParam().precision == Precision::kBfloat16; }
  double tolerance() const { return rounds() ? 1e-2 : 1e-5; }

  // With features, also scaled by dropout, that bf16 holds: a device rounds
  // them.
  RandomBatchOptions PartsOf(uint32_t num_seeds) const {
    RandomBatchOptions options = BatchOf(num_seeds);
    options.largest_degree = 9;
    options.growth = 0.8;
    options.bfloat16_features = rounds();
    options.model.input_dropout = rounds() ? 0.5 : 0.2;
    return options;
  }

  // Expects that each part has on a device what it has on a core.
  void ExpectAsOnCores(const RandomBatchOptions& options, uint32_t num_parts,
                       const Owner& owner) {
    RandomBatch random(options);
    const std::vector<float> weights = WeightsFor(options.model);
    const Parts parts = SplitBatch(random.batch(), num_parts, owner);
    const std::vector<Outcome> expected =
        OnCores(options.model, weights, parts);
    const std::vector<Outcome> outcomes =
        OnDevices(options.model, weights, parts);
    const double scale = LengthOf(SumOf(expected));
    for (uint32_t p = 0; p < num_parts; ++p) {
      SCOPED_TRACE(absl::StrCat("part ", p, " of ", num_parts));
      EXPECT_LE(DistanceBetween(outcomes[p].gradient, expected[p].gradient),
                tolerance() * scale);
      EXPECT_NEAR(outcomes[p].result.loss, expected[p].result.loss,
                  (rounds() ? 1e-2 : 1e-5) * (1 + expected[p].result.loss));
      if (!rounds()) {
        EXPECT_EQ(outcomes[p].result.num_correct,
                  expected[p].result.num_correct);
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(AllKinds, CudaPartsTest, testing::ValuesIn(AllKinds()),
                         NameOfKind);

TEST_P(CudaPartsTest, EachHasTheGradientThatItHasOnCores) {
  for (const uint32_t num_parts : {2U, 3U}) {
    ExpectAsOnCores(PartsOf(16), num_parts, OwnersOf(num_parts));
  }
}

TEST_P(CudaPartsTest, NormalizedLayersThatAddTheirInputsDoToo) {
  if (GetParam().kind == "pinsage") GTEST_SKIP() << "has neither";
  RandomBatchOptions options = PartsOf(12);
  options.model.normalization = "layer";
  options.model.residual = true;
  ExpectAsOnCores(options, 2, OwnersOf(2));
}

// One part has no seed; of others, one has no vertex at all.
TEST_P(CudaPartsTest, PartsWithoutSeedsAndWithoutVerticesDoToo) {
  RandomBatchOptions options = PartsOf(12);
  const uint32_t num_seeds = options.num_seeds;
  const Owner owner = [num_seeds](uint32_t v) {
    return v < num_seeds ? 0U : static_cast<uint32_t>(Mix64(v) % 2);
  };
  ExpectAsOnCores(options, 3, owner);
  if (GetParam().kind == "pinsage") return;
  options.model.normalization = "layer";
  ExpectAsOnCores(options, 3, owner);
}

TEST_P(CudaPartsTest, SumToTheWholeBatchsGradient) {
  RandomBatchOptions options = PartsOf(16);
  options.model.dropout = options.model.input_dropout = 0;
  options.model.attention_dropout = 0;
  RandomBatch random(options);
  const std::vector<float> weights = WeightsFor(options.model);
  DeviceGradient device(options.model);
  const Outcome whole = device.Of(weights, random);
  for (const uint32_t num_parts : {2U, 5U}) {
    const std::vector<float> sum = SumOf(
        OnDevices(options.model, weights,
                  SplitBatch(random.batch(), num_parts, OwnersOf(num_parts))));
    EXPECT_LE(DistanceBetween(sum, whole.gradient),
              tolerance() * LengthOf(whole.gradient))
        << num_parts << " parts";
  }
}

TEST_P(CudaPartsTest, HaveTheSameBitsInAnyOrderOfThreads) {
  RandomBatchOptions options = PartsOf(5);
  options.model.layers = 2;
  RandomBatch random(options);
  const std::vector<float> weights = WeightsFor(options.model);
  const Parts parts = SplitBatch(random.batch(), 3, OwnersOf(3));
  std::vector<Outcome> first;
  for (uint64_t seed = 0; seed < kInterleavings; ++seed) {
    SetInterleaving(seed);
    const std::vector<Outcome> outcomes =
        OnDevices(options.model, weights, parts);
    if (seed == 0) first = outcomes;
    for (size_t p = 0; p < parts.size(); ++p) {
      EXPECT_TRUE(SameBits(outcomes[p].gradient, first[p].gradient));
    }
  }
}

// A part has no features of remote vertices; other parts send them.
TEST_P(CudaPartsTest, FeaturesOfOtherPartsMakeTheSameBits) {
  const RandomBatchOptions options = PartsOf(12);
  RandomBatch random(options);
  const std::vector<float> weights = WeightsFor(options.model);
  const Parts parts = SplitBatch(random.batch(), 3, OwnersOf(3));
  const std::vector<Outcome> expected =
      OnDevices(options.model, weights, parts);
  for (const auto& part : parts) {
    part->task.shares_inputs = true;
    const size_t own =
        part->task.num_loaded_nodes() * options.model.input_columns;
    ASSERT_LT(own, part->features.size());
    std::fill(part->features.begin() + static_cast<int64_t>(own),
              part->features.end(), std::nanf(""));
  }
  const std::vector<Outcome> shared = OnDevices(options.model, weights, parts);
  for (size_t p = 0; p < parts.size(); ++p) {
    EXPECT_TRUE(SameBits(shared[p].gradient, expected[p].gradient));
  }
}

// Two waits a hidden layer beside that for the gradient. Forwards rows go to
// the host and come from it, and the own ones are copied; backwards gradients
// go to the host and come from it.
TEST_P(CudaPartsTest, WaitOnceAndCopyLittleForEachExchange) {
  const RandomBatchOptions options = PartsOf(16);
  RandomBatch random(options);
  const std::vector<float> weights = WeightsFor(options.model);
  const Parts parts = SplitBatch(random.batch(), 2, OwnersOf(2));
  std::vector<std::unique_ptr<DeviceGradient>> devices;
  for (const auto& part : parts) {
    devices.push_back(std::make_unique<DeviceGradient>(options.model));
    devices.back()->Upload(part->batch);
  }
  const auto compute = [&](const TrainingBatch& batch) {
    return devices[batch.task->part]->Compute(weights, batch);
  };
  // Twice, as pieces of memory become one.
  ForAll(parts, compute);
  ForAll(parts, compute);
  const simt::FakeCounts before = simt::GetFakeCounts();
  ForAll(parts, compute);
  const simt::FakeCounts after = simt::GetFakeCounts();
  const uint64_t hidden = options.model.layers - 1;
  // Work of a part that is done while the other one waits is not waited for.
  EXPECT_LE(after.waits - before.waits, 2 * (1 + 2 * hidden));
  EXPECT_GE(after.waits - before.waits, 1 + 2 * hidden);
  // Labels or targets, and the gradient.
  EXPECT_EQ(after.copies - before.copies, 2 * (2 + 5 * hidden));
  EXPECT_EQ(after.allocations, before.allocations);
}

TEST(CudaPartsErrorsTest, APartWithoutAnExchangeIsRefused) {
  SetInterleaving(0);
  const RandomBatchOptions options = SageBatch();
  RandomBatch random(options);
  const Parts parts = SplitBatch(random.batch(), 2, OwnersOf(2));
  DeviceGradient device(options.model);
  device.Upload(parts[0]->batch);
  EXPECT_THAT(device.Compute(WeightsFor(options.model), parts[0]->batch),
              InvalidArgument("no exchange with the other parts"));
}

// A trainer that waits gives its part up, and does it again later.
TEST(CudaPartsErrorsTest, APartThatIsGivenUpIsDoneAgain) {
  class GivesUp final : public RowShuffle {
   public:
    explicit GivesUp(int after) : left_(after) {}
    absl::Status Forward(uint32_t, const PartRows&, ThreadTeam&) override {
      return absl::UnimplementedError("");
    }
    absl::Status Backward(uint32_t, const PartRows&, ThreadTeam&) override {
      return absl::UnimplementedError("");
    }
    absl::Status Exchange(uint32_t, bool, const PackedExchange&) override {
      return left_-- > 0 ? absl::OkStatus() : absl::CancelledError("given up");
    }

   private:
    int left_;
  };
  SetInterleaving(0);
  const RandomBatchOptions options = SageBatch();
  RandomBatch random(options);
  const std::vector<float> weights = WeightsFor(options.model);
  const Parts parts = SplitBatch(random.batch(), 2, OwnersOf(2));
  const std::vector<Outcome> expected =
      OnDevices(options.model, weights, parts);
  DeviceGradient device(options.model);
  device.Upload(parts[0]->batch);
  const auto give_up = [&](DeviceGradient& on, int after) {
    GivesUp shuffle(after);
    TrainingBatch batch = parts[0]->batch;
    batch.shuffle = &shuffle;
    EXPECT_THAT(
        on.Compute(weights, batch),
        StatusIs(absl::StatusCode::kCancelled, testing::HasSubstr("given up")));
    return simt::GetFakeCounts().copies;
  };
  for (int after = 0; after < 4; ++after) give_up(device, after);
  // The weights are there already, whose version is the same.
  DeviceGradient fresh(options.model);
  fresh.Upload(parts[0]->batch);
  const uint64_t before = simt::GetFakeCounts().copies;
  const uint64_t first = give_up(fresh, 0);
  EXPECT_EQ(give_up(fresh, 0) - first, first - before - 1);
  const std::vector<Outcome> again =
      ForAll(parts, [&](const TrainingBatch& batch) {
        if (batch.task->part == 0) return device.Compute(weights, batch);
        DeviceGradient other(options.model);
        other.Upload(batch);
        return other.Compute(weights, batch);
      });
  for (size_t p = 0; p < parts.size(); ++p) {
    EXPECT_TRUE(SameBits(again[p].gradient, expected[p].gradient));
  }
}

}  // namespace
}  // namespace fgnn
