#include "shared/minibatch/batches_per_epoch.h"

#include "gtest/gtest.h"

namespace fgnn {
namespace {

TEST(BatchesPerEpochTest, TheLastBatchMayBeSmaller) {
  EXPECT_EQ(BatchesPerEpoch(1, 1024), 1U);
  EXPECT_EQ(BatchesPerEpoch(1024, 1024), 1U);
  EXPECT_EQ(BatchesPerEpoch(1025, 1024), 2U);
}

}  // namespace
}  // namespace fgnn
