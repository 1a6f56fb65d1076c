#include "trainer_service/sync/cuda/nccl_member.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>

#include "tests/fakes/cuda/fake_cudart.h"
#include "tests/fakes/cuda/fake_nccl.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/shared/queue/segment_for_tests.h"

namespace fgnn {
namespace {

using std::chrono::milliseconds;
using testing::Optional;

constexpr milliseconds kNoHurry{600'000};
constexpr StepNumber kStepOfGroup{3};

class NcclMemberTest : public testing::Test {
 protected:
  NcclMemberTest() {
    simt::SetFakeDevice({});
    simt::SetFakeNccl({});
  }

  void Begin(uint32_t members) {
    SegmentOptions options = SmallOptions();
    options.num_members = members;
    segment_ = MakeSegment(options);
  }
  absl::StatusOr<std::unique_ptr<NcclMember>> Join(
      uint16_t owner, milliseconds timeout = kNoHurry) const {
    return NcclMember::Join(simt::FakeNcclApi(), segment_.get(),
                            OwnerIndex{owner}, timeout);
  }

  std::unique_ptr<Segment> segment_;
};

TEST_F(NcclMemberTest, HasAGroupWhileAllPlacesAreTaken) {
  Begin(2);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto first, Join(1));
  EXPECT_EQ(first->group(), std::nullopt);
  FGNN_ASSERT_OK_AND_ASSIGN(auto second, Join(2));
  EXPECT_EQ(second->rank(), 1U);
  EXPECT_EQ(first->RankOf(OwnerIndex{2}), 1U);
  const std::optional<uint64_t> group = first->group();
  EXPECT_NE(group, std::nullopt);
  EXPECT_EQ(second->group(), group);
  EXPECT_THAT(Join(3), FailedPrecondition("all 2 places"));
  second.reset();
  EXPECT_EQ(first->group(), std::nullopt);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto third, Join(3));
  EXPECT_THAT(first->group(), Optional(testing::Gt(*group)));
}

TEST_F(NcclMemberTest, WaitsUntilAllAreReadyAndOneHasTheId) {
  Begin(2);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto first, Join(1));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto second, Join(2));
  const uint64_t group = first->group().value();
  EXPECT_FALSE(second->SayReady(group, kStepOfGroup).value());
  EXPECT_FALSE(first->SayReady(group, kStepOfGroup + 1).value());
  EXPECT_TRUE(first->SayReady(group, kStepOfGroup).value());
  EXPECT_TRUE(second->SayReady(group, kStepOfGroup).value());
  EXPECT_EQ(second->Find(group).value(), nullptr);
}

TEST_F(NcclMemberTest, WaitsNoLongerThanTheTimeout) {
  Begin(2);
  const auto is_late = DeadlineExceeded("within 0 ms");
  FGNN_ASSERT_OK_AND_ASSIGN(const auto first, Join(1));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto second, Join(2, milliseconds(0)));
  const uint64_t group = first->group().value();
  EXPECT_THAT(second->SayReady(group, kStepOfGroup), is_late);
  EXPECT_TRUE(first->SayReady(group, kStepOfGroup).value());
  EXPECT_TRUE(second->SayReady(group, kStepOfGroup).value());
  EXPECT_THAT(second->Find(group), is_late);
}

TEST_F(NcclMemberTest, FindsTheSameGroupUntilItEnds) {
  Begin(1);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto member, Join(1));
  const uint64_t group = member->group().value();
  FGNN_ASSERT_OK_AND_ASSIGN(NcclGroup* const found, member->Find(group));
  EXPECT_EQ(member->Find(group).value(), found);
  EXPECT_EQ(simt::GetFakeNcclCounts().communicators, 1U);
  MeetingTable(segment_.get(), kNoOwner).EndGroup(group);
  EXPECT_THAT(member->group(), Optional(group + 1));
  FGNN_ASSERT_OK(member->Find(group + 1).status());
  EXPECT_EQ(simt::GetFakeNcclCounts().communicators, 2U);
}

TEST_F(NcclMemberTest, FailsAtTheThirdErrorInARowWithAllThere) {
  Begin(1);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto member, Join(1));
  const absl::Status fault = absl::InternalError("a fault");
  const auto end = [&](const absl::Status& reason) {
    return member->End(member->group().value(), reason);
  };
  FGNN_ASSERT_OK(end(fault));
  FGNN_ASSERT_OK(end(fault));
  member->HasExchanged();
  FGNN_ASSERT_OK(end(fault));
  FGNN_ASSERT_OK(end(absl::UnavailableError("a member is gone")));
  FGNN_ASSERT_OK(member->End(member->group().value() - 1, fault));
  FGNN_ASSERT_OK(end(absl::DeadlineExceededError("late")));
  EXPECT_THAT(end(fault), Internal("a fault, 3 times in a row"));
}

}  // namespace
}  // namespace fgnn
