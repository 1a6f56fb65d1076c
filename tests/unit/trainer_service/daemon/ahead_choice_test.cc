#include "trainer_service/daemon/ahead_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/unit/trainer_service/daemon/small_world.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Steps of three batches: 0 .. 2, 3 .. 5, 6; then the second epoch's.
class AheadChoiceTest : public testing::Test {
 protected:
  AheadChoice Make(uint32_t staleness, AheadLimit limit = {}) {
    SegmentOptions options = SmallSegmentOptions("job");
    options.staleness = staleness;
    segment_ = Segment::Create(options).value();
    return AheadChoice(*segment_, limit);
  }
  static OpenSteps Open(uint64_t first, uint64_t end) {
    return {StepNumber(first), StepNumber(end), BatchSeq(0)};
  }
  // The first batches of what may be claimed.
  static std::vector<uint64_t> Firsts(const AheadChoice& choice,
                                      const OpenSteps& open,
                                      uint64_t limit = 6) {
    std::vector<uint64_t> firsts;
    for (const BatchRange& range : choice.Ranges(open, StepNumber(limit))) {
      firsts.push_back(range.begin.value());
    }
    return firsts;
  }

  std::unique_ptr<Segment> segment_;
};

TEST_F(AheadChoiceTest, GoesAsFarAsTheLimitSays) {
  AheadChoice choice = Make(/*staleness=*/0);
  EXPECT_THAT(Firsts(choice, Open(0, 1)), ElementsAre(0, 3));
  EXPECT_THAT(Firsts(choice, Open(1, 2)), ElementsAre(3, 6));
  EXPECT_EQ(choice.Ranges(Open(1, 2), StepNumber(6))[1],
            (BatchRange{BatchSeq(6), BatchSeq(7)}));
  // There is nothing behind the steps that the scheduler has opened.
  EXPECT_THAT(Firsts(choice, Open(1, 2), /*limit=*/2), ElementsAre(3));
  EXPECT_FALSE(choice.SetLimit({.num_trainers = 2}));
  EXPECT_TRUE(choice.SetLimit({.batches = AheadLimit::kOpenSteps}));
  EXPECT_THAT(Firsts(choice, Open(0, 1)), ElementsAre(0));
  EXPECT_TRUE(choice.may_claim());
  EXPECT_TRUE(choice.SetLimit({.batches = AheadLimit::kNothing}));
  EXPECT_FALSE(choice.may_claim());
}

TEST_F(AheadChoiceTest, BeginsWithTheLastStepWhereWeightsMayBeOld) {
  const AheadChoice choice = Make(/*staleness=*/1);
  EXPECT_THAT(Firsts(choice, Open(0, 2)), ElementsAre(6, 3, 0));
}

TEST_F(AheadChoiceTest, KeepsItsShareOfAStep) {
  AheadChoice choice = Make(/*staleness=*/0, {.num_trainers = 2});
  const OpenSteps open = Open(0, 1);
  EXPECT_TRUE(choice.Keep(BatchSeq(0), /*in_overflow=*/true, open));
  EXPECT_THAT(Firsts(choice, open), ElementsAre(0, 3));
  EXPECT_TRUE(choice.Keep(BatchSeq(2), /*in_overflow=*/false, open));
  EXPECT_THAT(Firsts(choice, open), ElementsAre(3));  // 2 of 3.
  EXPECT_TRUE(choice.Keep(BatchSeq(3), false, open));
  EXPECT_TRUE(choice.Keep(BatchSeq(4), false, open));
  EXPECT_THAT(Firsts(choice, open), IsEmpty());
  choice.ForgetBefore(StepNumber(1));
  EXPECT_THAT(Firsts(choice, open), ElementsAre(0));
  choice.Forget();
  EXPECT_THAT(Firsts(choice, open), ElementsAre(0, 3));
}

TEST_F(AheadChoiceTest, KeepsNoOverflowBlockForAStepThatIsNotOpen) {
  AheadChoice choice = Make(/*staleness=*/0);
  EXPECT_FALSE(choice.Keep(BatchSeq(4), /*in_overflow=*/true, Open(0, 1)));
  EXPECT_THAT(Firsts(choice, Open(0, 1)), ElementsAre(0));
  EXPECT_THAT(Firsts(choice, Open(1, 2)), ElementsAre(3, 6));
  EXPECT_TRUE(choice.Keep(BatchSeq(4), /*in_overflow=*/true, Open(1, 2)));
}

}  // namespace
}  // namespace fgnn
