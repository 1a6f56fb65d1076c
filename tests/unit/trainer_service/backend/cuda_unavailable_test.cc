#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/status_matchers.h"
#include "trainer_service/backend/cuda/cuda_backends.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(CudaUnavailableTest, NamesTheDeviceAndTheWayOut) {
  EXPECT_THAT(CudaBackends(3)(JobSpec(), 1),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("cuda:3"), HasSubstr("a cpu device"),
                             HasSubstr("tools/setup --cuda"))));
}

TEST(CudaUnavailableTest, HasNoProducts) {
  EXPECT_THAT(NameCublas(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                     HasSubstr("tools/setup --cuda")));
}

}  // namespace
}  // namespace fgnn
