// What a model costs on an emulated device, and what the device's errors do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/fakes/cuda/fake_cudart.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/nn/cuda/cuda_model_kinds.h"
#include "tests/unit/trainer_service/nn/cuda/device_gradient.h"
#include "tests/unit/trainer_service/test_gpu.h"
#include "trainer_service/nn/cpu/cpu_model.h"

namespace fgnn {
namespace {

std::vector<float> WeightsOf(const ModelOptions& options) {
  ThreadTeam team(1);
  const auto model = MakeCpuModel(options, &team);
  EXPECT_THAT(model, IsOk());
  return RandomWeights(**model, 3);
}

using CudaModelCostsTest = CudaModelTest;

INSTANTIATE_TEST_SUITE_P(AllKinds, CudaModelCostsTest,
                         testing::ValuesIn(AllKinds()), NameOfKind);

TEST_P(CudaModelCostsTest, WaitsOnceAndCopiesLittle) {
  SetInterleaving(0);
  RandomBatchOptions options = BatchOf(9);
  options.largest_degree = 40;
  RandomBatch batch(options);
  const std::vector<float> weights = WeightsOf(options.model);
  DeviceGradient device(options.model);
  device.Of(weights, batch, 1);
  // Pieces of memory become one.
  FGNN_ASSERT_OK(device.Compute(weights, batch, 1));
  const simt::FakeCounts before = simt::GetFakeCounts();
  FGNN_ASSERT_OK(device.Compute(weights, batch, 1));
  const simt::FakeCounts after = simt::GetFakeCounts();
  EXPECT_EQ(after.waits - before.waits, 1U);
  // Labels or targets; the gradient.
  const uint64_t copies = options.model.predicts_links() ? 1 : 2;
  EXPECT_EQ(after.copies - before.copies, copies);
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_LE(after.launches - before.launches, 40U * options.model.layers);
  EXPECT_EQ(after.allocated_bytes,
            device.model().device_bytes() + device.task().device_bytes());
  FGNN_ASSERT_OK(device.Compute(weights, batch, 2));
  const simt::FakeCounts next = simt::GetFakeCounts();
  EXPECT_EQ(next.waits - after.waits, 1U);
  EXPECT_EQ(next.copies - after.copies, copies + 1);  // The new version too.
}

// Returns how many copies more it takes to leave the gradient on the device
// too.
uint64_t CopiesToLeave(const RandomBatchOptions& options) {
  SetInterleaving(0);
  RandomBatch batch(options);
  const std::vector<float> weights = WeightsOf(options.model);
  TestGpu gpu;
  float* const place = gpu.Room<float>(weights.size());
  DeviceGradient device(options.model);
  const Outcome expected = device.Of(weights, batch);
  const uint64_t before = simt::GetFakeCounts().copies;
  EXPECT_THAT(device.Compute(weights, batch), IsOk());
  const uint64_t after = simt::GetFakeCounts().copies;
  const auto left = device.Compute(weights, batch, 1, place);
  EXPECT_THAT(left, IsOk());
  const uint64_t copies = simt::GetFakeCounts().copies - after;
  EXPECT_TRUE(SameBits(left->gradient, expected.gradient));
  EXPECT_TRUE(SameBits(gpu.Get(place, weights.size()), expected.gradient));
  return copies - (after - before);
}

TEST_P(CudaModelCostsTest, LeavesTheGradientOnTheDevice) {
  const RandomBatchOptions options = BatchOf(9);
  EXPECT_LE(CopiesToLeave(options), ParametersOf(options.model).size());
}

TEST(CudaModelGradientTest, LeavesParametersWithoutGapsByOneCopy) {
  RandomBatchOptions options = SageBatch();
  options.model.input_columns = 64;
  options.model.hidden = options.model.num_classes = 32;
  EXPECT_EQ(CopiesToLeave(options), 1U);
}

TEST(CudaDeviceErrorsTest, ABatchIsTooLargeForTheDevice) {
  SetInterleaving(0);
  RandomBatchOptions options = SageBatch();
  RandomBatch small(options);
  options.num_seeds = 1000;
  RandomBatch large(options);
  const std::vector<float> weights = WeightsOf(options.model);
  DeviceGradient fresh(options.model);
  const Outcome expected = fresh.Of(weights, small);
  DeviceGradient device(options.model);
  device.Upload(large);
  simt::FakeDevice limited;
  limited.memory_bytes = simt::GetFakeCounts().allocated_bytes + (3 << 20);
  simt::SetFakeDevice(limited);
  EXPECT_THAT(device.Compute(weights, large), ResourceExhausted("input nodes"));
  // The model is still of use.
  EXPECT_TRUE(SameBits(device.Of(weights, small).gradient, expected.gradient));
}

TEST(CudaDeviceErrorsTest, AnErrorOfTheDeviceStays) {
  SetInterleaving(0);
  RandomBatchOptions options = SageBatch();
  RandomBatch batch(options);
  const std::vector<float> weights = WeightsOf(options.model);
  for (const uint64_t calls : {0U, 5U, 20U}) {
    SetInterleaving(0);
    DeviceGradient device(options.model);
    device.Upload(batch);
    simt::FailAfter(calls, cudaErrorIllegalAddress, /*sticky=*/true);
    for (int repetition = 0; repetition < 2; ++repetition) {
      EXPECT_THAT(device.Compute(weights, batch), Internal("IllegalAddress"));
    }
  }
}

}  // namespace
}  // namespace fgnn
