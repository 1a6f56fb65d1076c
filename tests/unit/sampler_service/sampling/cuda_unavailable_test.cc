// What a build without CUDA says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sampler_service/sampling/cuda/cuda_device_samplers.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

TEST(CudaUnavailableTest, NamesTheDeviceAndTheWayOut) {
  FGNN_ASSERT_OK_AND_ASSIGN(const Device gpu, ParseDevice("cuda:1"));
  EXPECT_THAT(OpenCudaSamplers(gpu),
              Unimplemented("device cuda:1", "no CUDA", "tools/setup --cuda"));
  EXPECT_THAT(DescribeGpus(), Unimplemented("tools/setup --cuda"));
}

}  // namespace
}  // namespace fgnn
