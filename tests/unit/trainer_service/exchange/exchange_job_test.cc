// The exchanges of a job's hosts in one process, which reach each other by
// links that are fakes.
#include "trainer_service/exchange/exchange_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/threads/notification.h"
#include "tests/unit/trainer_service/exchange/exchanges_of_a_job.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

TEST(OthersOfTest, TheirPlacesAreThoseOfTheSegment) {
  SegmentOptions options = StepsOfFour();
  options.num_hosts = 3;
  options.places_before = 2;
  options.places_after = 1;
  JobHosts hosts = HostsWith({2, 1, 1});
  hosts.self = 1;
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<OtherHost> others,
                            OthersOf(hosts, options));
  ASSERT_EQ(others.size(), 2U);
  EXPECT_EQ(others[0].name, "host0");
  EXPECT_EQ(others[0].first_place, 0U);
  EXPECT_EQ(others[0].num_places, 2U);
  EXPECT_EQ(others[1].index, 2U);
  EXPECT_EQ(others[1].first_place, 3U);
  EXPECT_EQ(others[1].num_places, 1U);
}

TEST(OthersOfTest, OtherPlacesThanTheSegmentsAreRefused) {
  SegmentOptions options = StepsOfFour();
  options.num_hosts = 3;
  options.places_before = 2;
  options.places_after = 1;
  const struct {
    std::vector<uint64_t> shares;
    uint32_t self;
    const char* why;
  } wrong[] = {
      {{}, 0, "host 0 of 0 hosts"},
      {{2, 1, 1}, 3, "host 3 of 3 hosts"},
      {{2, 1, 2}, 1, "the hosts have 5 places of a step"},
      {{2, 1}, 1, "the hosts have 3 places of a step"},
      {{1, 1, 2}, 1, "the hosts before host1 have 1 places of a step"},
      {{2, 1, 1, 0}, 1, "the job has 4 hosts, by its segment 3"},
      {{2, 2}, 1, "host1 has 2 places of a step, by its segment 1"},
  };
  for (const auto& [shares, self, why] : wrong) {
    JobHosts hosts = HostsWith(shares);
    hosts.self = self;
    EXPECT_THAT(OthersOf(hosts, options).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
  }
}

class ExchangeJobTest : public testing::Test {
 protected:
  // Starts the exchange of host 0 of three, with links that have this fault.
  std::unique_ptr<ExchangeJob> StartFirst(const EntryFault& fault) {
    for (uint32_t host = 0; host < hosts_.size(); ++host) {
      far_.push_back({hosts_.segment(host), hosts_.versions(host)});
    }
    return ExchangeJob::Start({.job_id = kJob,
                               .owner = kExchange,
                               .hosts = HostsWith(kShares),
                               .totals = &totals_,
                               .on_failure =
                                   [this](const absl::Status& why) {
                                     ++failures_;
                                     failure_ = why;
                                     failed_.Notify();
                                   }},
                              std::make_unique<FakeHostLinks>(0, &far_, fault),
                              AttachTo(hosts_.segment(0)), &seat_)
        .value();
  }

  const std::vector<uint64_t> kShares = {2, 1, 1};
  Hosts hosts_{StepsOfFour(), kShares};
  std::vector<FakeFarHost> far_;
  ExchangeTotals totals_;
  std::atomic<int> failures_ = 0;
  absl::Status failure_;
  Notification failed_;
  BoardSeat seat_;
};

TEST_F(ExchangeJobTest, OtherWeightsFailTheJobOnce) {
  std::unique_ptr<ExchangeJob> job = StartFirst([](EntryPart& part) {
    if (part.end.has_value()) part.end->weights_crc = 7;
    return absl::OkStatus();
  });
  const Deadline end = FarDeadline();
  while (!failed_.HasBeenNotified()) {
    ASSERT_LT(MonotonicClock::now(), end);
    for (size_t host = 0; host < hosts_.size(); ++host) {
      for (size_t actor = 0; actor < kSamplerAndTrainer; ++actor) {
        FGNN_ASSERT_OK(hosts_.Act(host, actor).status());
      }
    }
  }
  // The loop that failed works on, as the scheduler sees it, and the board is
  // served.
  WaitForProgress(*job);
  EXPECT_THAT(seat_.Use(
                  kJob, /*attempt=*/0, [] {},
                  [](const ServedBoard&) { return absl::OkStatus(); }),
              IsOk());
  job.reset();
  EXPECT_EQ(failures_, 1);
  EXPECT_THAT(failure_, StatusIs(absl::StatusCode::kDataLoss,
                                 HasSubstr("of the weights is another one")));
}

TEST_F(ExchangeJobTest, HostsAreProbedBeforeTheFirstStepAlone) {
  const auto right = [](EntryPart&) { return absl::OkStatus(); };
  std::unique_ptr<ExchangeJob> job = StartFirst(right);
  const GradientBoard board(hosts_.segment(0), kNoOwner);
  const Deadline end = FarDeadline();
  while (board.version().value_or(0) == 0) {
    ASSERT_LT(MonotonicClock::now(), end);
    for (size_t host = 0; host < hosts_.size(); ++host) {
      for (size_t actor = 0; actor < kSamplerAndTrainer; ++actor) {
        FGNN_ASSERT_OK(hosts_.Act(host, actor).status());
      }
    }
  }
  EXPECT_EQ(job->reaches().size(), 2U);
  job.reset();
  far_.clear();
  job = StartFirst(right);
  for (int rounds = 0; rounds < 3; ++rounds) WaitForProgress(*job);
  EXPECT_EQ(job->reaches().size(), 0U);
}

TEST_F(ExchangeJobTest, AJobThatIsStoppedHasNotFailed) {
  std::unique_ptr<ExchangeJob> job = StartFirst(
      [](EntryPart&) { return absl::UnavailableError("the link broke"); });
  WaitForProgress(*job);
  GlobalQueue(hosts_.segment(0), kNoOwner).Stop();
  WaitForProgress(*job);
  job.reset();
  EXPECT_EQ(failures_, 0);
  EXPECT_EQ(totals_.entries, 0U);
}

}  // namespace
}  // namespace fgnn
