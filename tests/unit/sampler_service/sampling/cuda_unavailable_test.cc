// What a build without CUDA says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sampler_service/sampling/cuda/cuda_device_samplers.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(CudaUnavailableTest, NamesTheDeviceAndTheWayOut) {
  FGNN_ASSERT_OK_AND_ASSIGN(const Device gpu, ParseDevice("cuda:1"));
  EXPECT_THAT(OpenCudaSamplers(gpu),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("device cuda:1"), HasSubstr("no CUDA"),
                             HasSubstr("tools/setup --cuda"))));
  EXPECT_THAT(DescribeGpus(), StatusIs(absl::StatusCode::kUnimplemented,
                                       HasSubstr("tools/setup --cuda")));
}

}  // namespace
}  // namespace fgnn
