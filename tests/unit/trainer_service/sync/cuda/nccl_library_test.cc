#include "trainer_service/sync/cuda/nccl_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

TEST(NcclLibraryTest, SaysHowToFetchALibraryThatIsNotThere) {
  EXPECT_THAT(LoadNccl("/a/folder", {"libm.so.6"}),
              FailedPrecondition(
                  "pip install --no-deps --target "
                  "/a/folder nvidia-nccl-cu13==2",
                  "training.sync: steps",
                  "; /a/folder/nvidia/nccl/lib/libnccl.so.2: cannot open",
                  "libm.so.6 has no ncclGetVersion"));
}

}  // namespace
}  // namespace fgnn
