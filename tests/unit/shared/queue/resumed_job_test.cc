// Segments of jobs that go on from a committed version.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "tests/unit/shared/queue/exact_job.h"
#include "tests/unit/shared/queue/segment_for_tests.h"

namespace fgnn {
namespace {

// Three epochs of ten batches, four steps each: 3, 3, 3 and 1 batches.
constexpr uint64_t kLastVersion = 12;

class ResumedJobTest : public testing::TestWithParam<uint64_t> {
 protected:
  ResumedJobTest() {
    options_ = SmallOptions();
    options_.first_version = GetParam();
    first_seq_ = options_.first_version == kLastVersion
                     ? BatchSeq(30)
                     : JobShape(options_)
                           .BatchesOfStep(StepNumber(options_.first_version))
                           .begin;
    segment_ = MakeSegment(options_);
  }

  SegmentOptions options_;
  BatchSeq first_seq_;
  std::unique_ptr<Segment> segment_;
};

TEST_P(ResumedJobTest, SamplersClaimFromTheFirstOpenBatchOn) {
  GlobalQueue sampler(segment_.get(), OwnerIndex{1});
  sampler.OpenForSampling(BatchSeq(30));
  for (BatchSeq seq = first_seq_;
       seq < std::min(first_seq_ + options_.num_slots, BatchSeq(30)); ++seq) {
    ProduceNext(&sampler, seq);
  }
  FGNN_ASSERT_OK_AND_ASSIGN(const auto none, sampler.TryClaimForWriting());
  EXPECT_FALSE(none.has_value());
}

TEST_P(ResumedJobTest, TheFirstWeightsAreThoseOfItsVersion) {
  GradientBoard board(segment_.get(), OwnerIndex{1});
  EXPECT_EQ(board.version(), std::nullopt);
  std::optional<StepLease> lease = board.TryLease();
  ASSERT_TRUE(lease.has_value());
  EXPECT_TRUE(lease->is_initial());
  EXPECT_EQ(lease->new_version(), GetParam());
  EXPECT_TRUE(lease->old_weights().empty());
  EXPECT_TRUE(lease->gradients().empty());
  // Given back, or its maker dead: somebody else makes them.
  lease.reset();
  lease = board.TryLease();
  ASSERT_TRUE(lease.has_value());
  std::fill(lease->new_weights().begin(), lease->new_weights().end(), 7.0F);
  FGNN_ASSERT_OK(std::move(*lease).Publish());
  EXPECT_EQ(board.version(), GetParam());
  EXPECT_EQ(board.weights(GetParam())[0], 7.0F);
  for (BatchSeq seq(0); seq < BatchSeq(30); ++seq) {
    EXPECT_EQ(board.IsDone({seq}), seq < first_seq_) << seq.value();
    EXPECT_EQ(board.record({seq}), std::nullopt) << seq.value();
  }
}

TEST_P(ResumedJobTest, WhatIsLeftOfTheJobIsTrainedOnce) {
  GlobalQueue sampler(segment_.get(), OwnerIndex{1}, 0);
  GlobalQueue trainer(segment_.get(), OwnerIndex{2});
  GradientBoard board(segment_.get(), OwnerIndex{2});
  sampler.OpenForSampling(BatchSeq(30));
  board.OpenForTraining(StepNumber(kLastVersion));
  for (int turn = 0; turn < 1000 && board.version() != kLastVersion; ++turn) {
    FGNN_ASSERT_OK(SamplerTurn(&sampler, NoWait()));
    FGNN_ASSERT_OK(TrainerTurn(&trainer, &board, options_));
  }
  ASSERT_EQ(board.version(), kLastVersion);
  // The exact job's optimizer counts batches, its weights add up gradients.
  EXPECT_EQ(board.optimizer_state(kLastVersion)[0],
            static_cast<float>(BatchSeq(30) - first_seq_));
  float expected = 0;
  for (BatchSeq seq = first_seq_; seq < BatchSeq(30); ++seq) {
    expected += ExactGradient({seq}, 0);
  }
  EXPECT_EQ(board.weights(kLastVersion)[0], expected);
}

TEST_P(ResumedJobTest, WhoAttachesKnowsTheVersion) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const auto attached,
      Segment::Attach(UniqueFd(::dup(segment_->fd())), kTestJob));
  EXPECT_EQ(attached->options().first_version, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Versions, ResumedJobTest,
                         testing::Values(0, 1, 3, 4, 6, 11, 12));

TEST(ResumedSegmentTest, AVersionBehindTheJobsEndIsRefused) {
  SegmentOptions options = SmallOptions();
  options.first_version = kLastVersion + 1;
  EXPECT_THAT(Segment::Create(options), InvalidArgument("first_version"));
}

}  // namespace
}  // namespace fgnn
