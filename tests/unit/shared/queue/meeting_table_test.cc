#include "shared/queue/meeting_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "shared/queue/global_queue.h"
#include "shared/queue/gradient_board.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/shared/queue/segment_for_tests.h"

namespace fgnn {
namespace {

constexpr StepNumber kStep{7};

class MeetingTableTest : public testing::Test {
 protected:
  void SetUp() override {
    SegmentOptions options = SmallOptions();
    options.num_members = 2;
    segment_ = MakeSegment(options);
  }
  MeetingTable Table(uint16_t owner) const {
    return {segment_.get(), OwnerIndex{owner}};
  }

  std::unique_ptr<Segment> segment_;
};

TEST_F(MeetingTableTest, EachMemberHasAPlaceOfItsOwn) {
  MeetingTable one = Table(11);
  MeetingTable other = Table(12);
  EXPECT_FALSE(one.IsComplete());
  EXPECT_EQ(one.Join(), 0U);
  EXPECT_EQ(other.Join(), 1U);
  EXPECT_TRUE(one.IsComplete());
  EXPECT_EQ(Table(13).Join(), std::nullopt);
  EXPECT_EQ(one.RankOf(OwnerIndex{12}), 1U);
  EXPECT_EQ(one.RankOf(OwnerIndex{13}), std::nullopt);
  EXPECT_EQ(one.RankOf(kNoOwner), std::nullopt);
  one.Leave();
  EXPECT_FALSE(other.IsComplete());
  EXPECT_EQ(Table(13).Join(), 0U);
}

TEST_F(MeetingTableTest, EveryChangeOfMembersEndsTheGroup) {
  MeetingTable one = Table(11);
  const uint64_t first = one.group();
  EXPECT_TRUE(one.GoesOn(first));
  ASSERT_TRUE(one.Join().has_value());
  EXPECT_FALSE(one.GoesOn(first));
  const uint64_t second = one.group();
  EXPECT_FALSE(Table(12).ReclaimPlaceOf(OwnerIndex{12}));  // It has none.
  EXPECT_TRUE(one.GoesOn(second));
  EXPECT_TRUE(Table(0).ReclaimPlaceOf(OwnerIndex{11}));
  EXPECT_FALSE(one.GoesOn(second));
  EXPECT_FALSE(Table(0).ReclaimPlaceOf(OwnerIndex{11}));
  EXPECT_EQ(one.group(), second + 1);
}

TEST_F(MeetingTableTest, AGroupEndsOnce) {
  MeetingTable table = Table(11);
  const uint64_t group = table.group();
  table.EndGroup(group);
  table.EndGroup(group);
  EXPECT_EQ(table.group(), group + 1);
  GlobalQueue(segment_.get(), kNoOwner).Stop();
  EXPECT_FALSE(table.GoesOn(group + 1));
}

TEST_F(MeetingTableTest, AllAreReadyForTheSameStepOfTheSameGroup) {
  MeetingTable one = Table(11);
  MeetingTable other = Table(12);
  one.Join();
  other.Join();
  const uint64_t group = one.group();
  one.SayReady(0, group, kStep);
  EXPECT_FALSE(one.AllReady(group, kStep));
  other.SayReady(1, group, kStep + 1);
  EXPECT_FALSE(one.AllReady(group, kStep));
  other.SayReady(1, group + 1, kStep);
  EXPECT_FALSE(one.AllReady(group, kStep));
  other.SayReady(1, group, kStep);
  EXPECT_TRUE(one.AllReady(group, kStep));
  EXPECT_FALSE(one.AllReady(group, kStep + 1));
  // Who comes after a member is not ready because that one was.
  other.Leave();
  Table(13).Join();
  EXPECT_FALSE(one.AllReady(group, kStep));
}

TEST_F(MeetingTableTest, WhoWaitsSeesThatAMemberIsReady) {
  const GradientBoard board(segment_.get(), OwnerIndex{11});
  MeetingTable table = Table(12);
  table.Join();
  const uint32_t seen = board.changes();
  table.SayReady(0, table.group(), kStep);
  EXPECT_NE(board.changes(), seen);
  // To say it again is no news.
  const uint32_t then = board.changes();
  table.SayReady(0, table.group(), kStep);
  EXPECT_EQ(board.changes(), then);
}

TEST_F(MeetingTableTest, TheIdIsThatOfTheGroup) {
  MeetingTable table = Table(11);
  table.Join();
  const uint64_t group = table.group();
  EXPECT_EQ(table.FindId(group), std::nullopt);
  GroupId id = {};
  id.front() = std::byte{1};
  id.back() = std::byte{2};
  table.PublishId(group, id);
  EXPECT_EQ(Table(12).FindId(group), id);
  EXPECT_EQ(table.FindId(group + 1), std::nullopt);
}

TEST_F(MeetingTableTest, ASegmentWithoutMembersHasNoPlace) {
  SegmentOptions options = segment_->options();
  options.num_members = 0;
  FGNN_ASSERT_OK_AND_ASSIGN(segment_, Segment::Create(options));
  EXPECT_EQ(Table(11).Join(), std::nullopt);
  EXPECT_FALSE(Table(0).ReclaimPlaceOf(OwnerIndex{11}));
}

}  // namespace
}  // namespace fgnn
