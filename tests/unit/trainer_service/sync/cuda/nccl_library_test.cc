#include "trainer_service/sync/cuda/nccl_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;

TEST(NcclLibraryTest, SaysHowToFetchALibraryThatIsNotThere) {
  EXPECT_THAT(LoadNccl({"/nowhere/one.so"}, "/a/folder"),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("pip install --no-deps --target "
                                       "/a/folder nvidia-nccl-cu13==2"),
                             HasSubstr("training.sync: steps"),
                             HasSubstr("; /nowhere/one.so: cannot open"))));
}

TEST(NcclLibraryTest, NamesTheFunctionThatALibraryLacks) {
  EXPECT_THAT(LoadNccl({"libm.so.6"}, "/a/folder"),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("libm.so.6 has no ncclGetVersion")));
}

}  // namespace
}  // namespace fgnn
