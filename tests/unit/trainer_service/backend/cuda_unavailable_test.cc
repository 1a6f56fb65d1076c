#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/status_matchers.h"
#include "trainer_service/backend/cuda/cuda_backends.h"

namespace fgnn {
namespace {

TEST(CudaUnavailableTest, NamesTheDeviceAndTheWayOut) {
  EXPECT_THAT(CudaBackends(3)(JobSpec(), 1),
              Unimplemented("cuda:3", "a cpu device", "tools/setup --cuda"));
}

TEST(CudaUnavailableTest, HasNoProducts) {
  EXPECT_THAT(NameCublas(), FailedPrecondition("tools/setup --cuda"));
}

}  // namespace
}  // namespace fgnn
