#include "shared/config/device_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(SplitDeviceListTest, APieceWithoutColonGoesOnTheListBeforeIt) {
  EXPECT_THAT(SplitDeviceList("cpu:0-1,cpu:2"),
              ElementsAre("cpu:0-1", "cpu:2"));
  EXPECT_THAT(SplitDeviceList("cpu:0,2-3,cpu:4"),
              ElementsAre("cpu:0,2-3", "cpu:4"));
  EXPECT_THAT(SplitDeviceList(""), ElementsAre());
}

TEST(DevicesOfFlagTest, TakesAllCoresWhereNoneIsNamed) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto devices, DevicesOfFlag({}));
  EXPECT_THAT(NamesOf(devices), ElementsAre(AllCoresDevice()));
  EXPECT_THAT(DevicesOfFlag({AllCoresDevice(), "cpu:1023"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--devices"), HasSubstr("core 1023"))));
}

}  // namespace
}  // namespace fgnn
