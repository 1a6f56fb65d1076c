// Models of every training.task on an emulated device, beside the CPU's.
#include "trainer_service/nn/cuda/cuda_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/fakes/cuda/fake_cudart.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/nn/cuda/device_gradient.h"
#include "tests/unit/trainer_service/nn/random_batch.h"
#include "tests/unit/trainer_service/nn/small_model.h"
#include "tests/unit/trainer_service/test_gpu.h"
#include "trainer_service/nn/cpu/cpu_model.h"

namespace fgnn {
namespace {

struct TaskKind {
  std::string name;
  Objective objective;
  Precision precision = Precision::kFloat32;
};

class CudaLossTest : public testing::TestWithParam<TaskKind> {
 protected:
  RandomBatchOptions BatchOf(uint32_t num_seeds) const {
    RandomBatchOptions options;
    options.model = SmallModel();
    options.model.layers = 2;
    options.model.objective = GetParam().objective;
    options.model.precision = GetParam().precision;
    options.num_seeds = num_seeds;
    if (options.model.precision == Precision::kBfloat16) {
      // Numbers that bf16 holds, also after dropout: see cuda_model_test.cc.
      options.bfloat16_features = true;
      options.model.input_dropout = 0.5;
    }
    if (GetParam().objective == Objective::kLinks) {
      options.num_pairs = 3 * num_seeds;
      options.num_positives = num_seeds;
    }
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(
    AllTasks, CudaLossTest,
    testing::Values(TaskKind{"Classes", Objective::kClasses},
                    TaskKind{"Links", Objective::kLinks},
                    TaskKind{"Values", Objective::kValues},
                    TaskKind{"LabelSets", Objective::kLabelSets},
                    TaskKind{"LinksBfloat16", Objective::kLinks,
                             Precision::kBfloat16}),
    [](const auto& test) { return test.param.name; });

// Returns the distance of the gradients, in lengths of that of the CPU.
double DistanceFromCpu(const RandomBatchOptions& options) {
  SetInterleaving(0);
  RandomBatch batch(options);
  ThreadTeam team(1);
  auto model = MakeCpuModel(options.model, &team);
  EXPECT_THAT(model, IsOk());
  const std::vector<float> weights = RandomWeights(**model, 3);
  std::vector<float> expected(weights.size());
  const auto result =
      (*model)->Gradient(weights, batch.batch(), absl::MakeSpan(expected));
  EXPECT_THAT(result, IsOk());
  DeviceGradient device(options.model);
  const Outcome outcome = device.Of(weights, batch);
  const bool rounds = options.model.precision == Precision::kBfloat16;
  EXPECT_NEAR(outcome.result.loss, result->loss,
              (rounds ? 1e-3 : 1e-5) * (1 + result->loss));
  if (!rounds) {
    EXPECT_EQ(outcome.result.num_correct, result->num_correct);
  }
  double squares = 0;
  double of_cpu = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = double{outcome.gradient[i]} - double{expected[i]};
    squares += difference * difference;
    of_cpu += double{expected[i]} * double{expected[i]};
  }
  return std::sqrt(squares / of_cpu);
}

TEST_P(CudaLossTest, HasTheCpusLossAndGradient) {
  const bool rounds = GetParam().precision == Precision::kBfloat16;
  for (const uint32_t seeds : {1U, 31U, 33U}) {
    SCOPED_TRACE(testing::Message() << seeds << " seeds");
    EXPECT_LE(DistanceFromCpu(BatchOf(seeds)), rounds ? 1e-2 : 1e-5);
  }
}

TEST_P(CudaLossTest, WaitsOnce) {
  SetInterleaving(0);
  const RandomBatchOptions options = BatchOf(9);
  RandomBatch batch(options);
  DeviceGradient device(options.model);
  const std::vector<float> weights(device.model().num_parameters(), 0.1F);
  device.Of(weights, batch);
  const uint64_t before = simt::GetFakeCounts().waits;
  FGNN_ASSERT_OK(device.Compute(weights, batch));
  EXPECT_EQ(simt::GetFakeCounts().waits - before, 1U);
}

TEST_P(CudaLossTest, RefusesABatchOfAnotherTask) {
  SetInterleaving(0);
  RandomBatchOptions other = BatchOf(9);
  if (GetParam().objective == Objective::kLinks) {
    other.num_pairs = 0;
  } else {
    other.model.objective = Objective::kLinks;
    other.num_pairs = 5;
  }
  RandomBatch batch(other);
  DeviceGradient device(BatchOf(9).model);
  const std::vector<float> weights(device.model().num_parameters(), 0.1F);
  device.Upload(batch);
  EXPECT_THAT(device.Compute(weights, batch), InvalidArgument());
}

}  // namespace
}  // namespace fgnn
