// Kernels through Launch(), on the fake runtime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "shared/device/cuda/device_array.h"
#include "shared/device/cuda/stream.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/shared/device/cuda/add.h"

namespace fgnn {
namespace {

class LaunchTest : public testing::TestWithParam<uint32_t> {};

TEST_P(LaunchTest, OneThreadComputesEachElement) {
  const uint32_t count = GetParam();
  FGNN_ASSERT_OK_AND_ASSIGN(const CudaStream stream, CudaStream::Make());
  FGNN_ASSERT_OK_AND_ASSIGN(const auto values,
                            PinnedArray<uint32_t>::Make(count));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto sum, DeviceArray<uint32_t>::Make(count));
  std::iota(values.span().begin(), values.span().end(), 1u);

  ASSERT_EQ(LaunchAdd({.left = values.get(),
                       .right = values.get(),
                       .sum = sum.get(),
                       .count = count},
                      stream.get()),
            cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(values.get(), sum.get(), sum.bytes(),
                            cudaMemcpyDeviceToHost, stream.get()),
            cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);

  for (uint32_t i = 0; i < count; ++i) ASSERT_EQ(values.get()[i], 2 * (i + 1));
}

INSTANTIATE_TEST_SUITE_P(Sizes, LaunchTest,
                         testing::Values(0, 1, 31, 32, 33, 64, 65, 1000));

TEST(DynamicSharedTest, IsTheBlocksOwn) {
  FGNN_ASSERT_OK_AND_ASSIGN(const CudaStream stream, CudaStream::Make());
  FGNN_ASSERT_OK_AND_ASSIGN(const auto values, PinnedArray<uint32_t>::Make(97));
  std::iota(values.span().begin(), values.span().end(), 0u);

  ASSERT_EQ(LaunchReverse(values.get(), 97, stream.get()), cudaSuccess);
  FGNN_ASSERT_OK_AND_ASSIGN(CudaEvent event, CudaEvent::Make());
  ASSERT_THAT(event.Record(stream), IsOk());
  ASSERT_THAT(event.Wait(DeadlineIn(std::chrono::minutes(1))), IsOk());

  for (uint32_t i = 0; i < 97; ++i) ASSERT_EQ(values.get()[i], 96 - i);
}

}  // namespace
}  // namespace fgnn
