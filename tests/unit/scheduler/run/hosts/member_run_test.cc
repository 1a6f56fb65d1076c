#include "scheduler/run/hosts/member_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "shared/base/hash.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/shared/queue/segment_for_tests.h"

namespace fgnn {
namespace {

constexpr char kJob[] = "job";
constexpr OwnerIndex kTrainer{2};

// Epochs of four steps. The rate falls with each.
std::vector<MemberOpening> Openings(uint64_t epoch) {
  std::vector<MemberOpening> openings;
  for (uint64_t one = epoch == 0 ? 0 : epoch - 1; one <= epoch; ++one) {
    openings.push_back({.sampling_limit = 10 * (one + 2),
                        .first_step = 4 * one,
                        .training_limit = 4 * (one + 1),
                        .rate_factor = 1.0 / static_cast<double>(one + 1)});
  }
  return openings;
}

// A member's segment at a version, and what is open of it.
class OpenAsOrderedTest : public testing::Test {
 protected:
  void BeAt(uint64_t version) {
    SegmentOptions options = SmallOptions();
    options.job_key = HashString(kJob);
    options.first_version = version;
    FGNN_ASSERT_OK_AND_ASSIGN(made_, JobSegment::Create(kJob, options));
    FGNN_ASSERT_OK_AND_ASSIGN(
        seen_, Segment::Attach(UniqueFd(::dup(made_->fd())), options.job_key));
    GradientBoard board(seen_.get(), kTrainer);
    std::optional<StepLease> lease = board.TryLease();
    ASSERT_TRUE(lease.has_value());
    FGNN_ASSERT_OK(std::move(*lease).Publish());
  }
  uint64_t limit() { return made_->board().training_limit().value(); }

  std::unique_ptr<JobSegment> made_;
  std::unique_ptr<Segment> seen_;
};

TEST_F(OpenAsOrderedTest, NothingIsOpenWithoutOpenings) {
  BeAt(0);
  OpenAsOrdered({}, *made_);
  EXPECT_EQ(limit(), 0U);
}

TEST_F(OpenAsOrderedTest, AMemberThatIsAnEpochBehindHasThatEpochsRate) {
  BeAt(1);
  OpenAsOrdered(Openings(1), *made_);
  EXPECT_EQ(limit(), 4U);
  EXPECT_EQ(seen_->rate_factor(), 1.0);
}

TEST_F(OpenAsOrderedTest, AMemberInTheOpenEpochHasItsRate) {
  BeAt(4);
  OpenAsOrdered(Openings(1), *made_);
  EXPECT_EQ(limit(), 8U);
  EXPECT_EQ(seen_->rate_factor(), 0.5);
}

}  // namespace
}  // namespace fgnn
