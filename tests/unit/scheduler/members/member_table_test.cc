#include "scheduler/members/member_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/threads/thread.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// A head called "head", whose clock the test turns.
class MemberTableTest : public testing::Test {
 protected:
  static MemberFacts Facts(const std::string& name) {
    return {.name = name,
            .exchange = name + ":7071",
            .version = "1.0",
            .segment_layout_version = 3,
            .devices = Devs({"cpu:0"}),
            .generation = 1};
  }

  // Reports without waiting for other orders.
  absl::StatusOr<MemberOrders> Report(
      const std::string& name,
      std::optional<MemberJobReport> job = std::nullopt) {
    return table_.Report({.facts = Facts(name), .job = std::move(job)},
                         Deadline::min());
  }

  static MemberJobReport Prepared(const std::string& job, uint64_t attempt) {
    return {.job_id = job, .attempt = attempt, .is_prepared = true};
  }

  Deadline now_ = MonotonicClock::now();
  MemberTable table_{{.head = Facts("head"),
                      .lost_after = seconds(5),
                      .clock = [this] { return now_; }}};
};

TEST_F(MemberTableTest, RefusesAnotherVersionLayoutOrName) {
  const auto refused = [this](const MemberFacts& facts) {
    return table_.Report({.facts = facts}, Deadline::min()).status();
  };
  MemberFacts facts = Facts("host1");
  facts.version = "0.9";
  EXPECT_THAT(refused(facts), FailedPrecondition("host1", "0.9", "1.0"));
  facts = Facts("host1");
  facts.segment_layout_version = 2;
  EXPECT_THAT(refused(facts), FailedPrecondition("layout 2", "with 3"));
  EXPECT_THAT(refused(Facts("head")), AlreadyExists("the head's own"));
  EXPECT_THAT(refused(Facts("a/b")), InvalidArgument("'a/b'"));
  EXPECT_THAT(table_.Views(), testing::IsEmpty());
}

TEST_F(MemberTableTest, AnotherMachineMayHaveTheNameOnlyOfALostMember) {
  FGNN_ASSERT_OK(Report("host1").status());
  MemberFacts other = Facts("host1");
  other.exchange = "elsewhere:7071";
  EXPECT_THAT(table_.Report({.facts = other}, Deadline::min()).status(),
              AlreadyExists("host1:7071", "elsewhere:7071"));
  now_ += seconds(6);
  EXPECT_TRUE(table_.Views().front().is_lost);
  EXPECT_THAT(table_.Report({.facts = other}, Deadline::min()).status(),
              IsOk());
  EXPECT_EQ(table_.Views().front().facts.exchange, "elsewhere:7071");
}

TEST_F(MemberTableTest, GivesAllHostsOrNone) {
  FGNN_ASSERT_OK(Report("host1").status());
  EXPECT_THAT(table_.Take("a", {"host1", "host2"}), NotFound("host2"));
  FGNN_ASSERT_OK(Report("host2").status());
  FGNN_ASSERT_OK(table_.Take("b", {"host2"}));
  EXPECT_THAT(table_.Take("a", {"host1", "host2"}), Unavailable("host2", "b"));
  FGNN_ASSERT_OK(table_.Take("c", {"host1"}));
  table_.Leave("b");
  table_.Leave("c");
  FGNN_ASSERT_OK(table_.Take("a", {"host1", "host2"}));
  now_ += seconds(6);
  table_.Leave("a");
  EXPECT_THAT(table_.Take("a", {"host1"}), NotFound("silent"));
}

TEST_F(MemberTableTest, OrdersReachTheMemberThatWaits) {
  FGNN_ASSERT_OK_AND_ASSIGN(const MemberOrders first, Report("host1"));
  EXPECT_FALSE(first.job.has_value());
  absl::StatusOr<MemberOrders> second = absl::UnknownError("none");
  {
    const Thread waits("waits", [&] {
      second =
          table_.Report({.facts = Facts("host1"), .revision = first.revision},
                        DeadlineIn(minutes(1)));
    });
    table_.Order("host1", {.job_id = "a", .hosts = {.attempt = 4}});
  }
  FGNN_ASSERT_OK(second.status());
  EXPECT_GT(second->revision, first.revision);
  ASSERT_TRUE(second->job.has_value());
  EXPECT_EQ(second->job->attempt(), 4U);
  // The same orders are not waited for by a member that has others.
  FGNN_ASSERT_OK_AND_ASSIGN(const MemberOrders again, Report("host1"));
  EXPECT_EQ(again.revision, second->revision);
}

TEST_F(MemberTableTest, TellsWhatAMemberReportedOfThisAttemptAlone) {
  FGNN_ASSERT_OK(Report("host1").status());
  FGNN_ASSERT_OK(table_.Take("a", {"host1"}));
  table_.Order("host1", {.job_id = "a", .hosts = {.attempt = 4}});
  EXPECT_THAT(table_.ReportOf("host1", "a", 5).status(),
              Unavailable("started again"));
  FGNN_ASSERT_OK_AND_ASSIGN(auto report, table_.ReportOf("host1", "a", 4));
  EXPECT_FALSE(report.has_value());
  FGNN_ASSERT_OK(Report("host1", Prepared("a", 3)).status());
  FGNN_ASSERT_OK_AND_ASSIGN(report, table_.ReportOf("host1", "a", 4));
  EXPECT_FALSE(report.has_value());
  EXPECT_EQ(table_.AttemptOf("host1", "a"), 3U);
  EXPECT_EQ(table_.AttemptOf("host1", "b"), std::nullopt);
  FGNN_ASSERT_OK(Report("host1", Prepared("a", 4)).status());
  FGNN_ASSERT_OK_AND_ASSIGN(report, table_.ReportOf("host1", "a", 4));
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(report->is_prepared);
  now_ += seconds(6);
  EXPECT_THAT(table_.ReportOf("host1", "a", 4).status(),
              Unavailable("host1", "silent"));
}

TEST_F(MemberTableTest, AJobThatLeavesTakesItsOrdersBack) {
  FGNN_ASSERT_OK(Report("host1").status());
  FGNN_ASSERT_OK(table_.Take("a", {"host1"}));
  table_.Order("host1", {.job_id = "a", .hosts = {.attempt = 4}});
  EXPECT_EQ(table_.Views().front().job_id, "a");
  table_.Leave("b");
  FGNN_ASSERT_OK_AND_ASSIGN(MemberOrders orders, Report("host1"));
  EXPECT_TRUE(orders.job.has_value());
  table_.Leave("a");
  FGNN_ASSERT_OK_AND_ASSIGN(orders, Report("host1"));
  EXPECT_FALSE(orders.job.has_value());
  EXPECT_EQ(table_.Views().front().job_id, "");
}

TEST_F(MemberTableTest, AMemberThatStartsAgainHasLostItsOrders) {
  FGNN_ASSERT_OK(Report("host1").status());
  FGNN_ASSERT_OK(table_.Take("a", {"host1"}));
  table_.Order("host1", {.job_id = "a", .hosts = {.attempt = 4}});
  MemberFacts again = Facts("host1");
  again.generation = 2;
  FGNN_ASSERT_OK_AND_ASSIGN(const MemberOrders orders,
                            table_.Report({.facts = again}, Deadline::min()));
  EXPECT_FALSE(orders.job.has_value());
  EXPECT_THAT(table_.ReportOf("host1", "a", 4).status(),
              Unavailable("started again"));
}

// As of a head whose state folder is a new one.
TEST_F(MemberTableTest, RevisionsAreNeverThoseOfAnEarlierHead) {
  // What this head would give first.
  const uint64_t before = (uint64_t{1} << 32) + 1;
  FGNN_ASSERT_OK_AND_ASSIGN(
      const MemberOrders orders,
      table_.Report({.facts = Facts("host1"), .revision = before},
                    Deadline::min()));
  EXPECT_GT(orders.revision, before);
}

TEST_F(MemberTableTest, AJobThatAMemberIsToLeaveIsNotTakenOver) {
  FGNN_ASSERT_OK(Report("host1", Prepared("a", 4)).status());
  EXPECT_EQ(table_.AttemptOf("host1", "a"), std::nullopt);
}

// A head that has started again.
TEST_F(MemberTableTest, AMemberKeepsTheJobOfAnEarlierHeadForAWhile) {
  const uint64_t before = 7;  // Revision of the earlier head's orders.
  const auto report_to = [&](MemberTable& table, const std::string& job) {
    return table
        .Report({.facts = Facts("host1"),
                 .job = Prepared(job, 4),
                 .revision = before},
                Deadline::min())
        .value_or(MemberOrders())
        .revision;
  };
  const MemberTerms terms = {.head = Facts("head"),
                             .interrupted_jobs = {"a"},
                             .clock = [this] { return now_; }};
  MemberTable other(terms);
  EXPECT_NE(report_to(other, "b"), before);
  MemberTable in_vain(terms);
  EXPECT_EQ(report_to(in_vain, "a"), before);
  now_ += minutes(1);
  EXPECT_NE(report_to(in_vain, "a"), before);
  MemberTable left(terms);
  EXPECT_EQ(report_to(left, "a"), before);
  left.Leave("a");
  EXPECT_NE(report_to(left, "a"), before);
  MemberTable taken(terms);
  EXPECT_EQ(report_to(taken, "a"), before);
  FGNN_ASSERT_OK(taken.Take("a", {"host1"}));
  EXPECT_EQ(taken.AttemptOf("host1", "a"), 4U);
  taken.Order("host1", {.job_id = "a", .hosts = {.attempt = 4}});
  now_ += minutes(2);
  FGNN_ASSERT_OK_AND_ASSIGN(
      const MemberOrders orders,
      taken.Report({.facts = Facts("host1"), .job = Prepared("a", 4)},
                   Deadline::min()));
  EXPECT_TRUE(orders.job.has_value());
}

TEST_F(MemberTableTest, AMemberWhoseCallBreaksIsLostSoon) {
  FGNN_ASSERT_OK(Report("host1").status());
  table_.NoteBreak("host1");
  EXPECT_FALSE(table_.Views().front().is_lost);
  now_ += std::chrono::milliseconds(751);
  EXPECT_TRUE(table_.Views().front().is_lost);
  FGNN_ASSERT_OK(Report("host1").status());
  EXPECT_FALSE(table_.Views().front().is_lost);
}

TEST_F(MemberTableTest, ABreakCountsThoughAReportWaits) {
  FGNN_ASSERT_OK_AND_ASSIGN(const MemberOrders first, Report("host1"));
  now_ += seconds(1);
  {
    const Thread waits("waits", [&] {
      EXPECT_THAT(
          table_.Report({.facts = Facts("host1"), .revision = first.revision},
                        DeadlineIn(minutes(1))),
          IsOk());
    });
    const Deadline begun = DeadlineIn(minutes(1));
    while (table_.Views().front().silent_seconds > 0) {
      ASSERT_LT(MonotonicClock::now(), begun);
      std::this_thread::yield();
    }
    table_.NoteBreak("host1");
    table_.Order("host1", {.job_id = "a"});
  }
  now_ += std::chrono::milliseconds(751);
  EXPECT_TRUE(table_.Views().front().is_lost);
}

TEST_F(MemberTableTest, AMemberThatLeavesIsLostAtOnce) {
  FGNN_ASSERT_OK(Report("host1").status());
  FGNN_ASSERT_OK(
      table_.Report({.facts = Facts("host1"), .leaves = true}, Deadline::min())
          .status());
  EXPECT_TRUE(table_.Views().front().is_lost);
}

TEST_F(MemberTableTest, NamesTheHostsThatThereAre) {
  EXPECT_THAT(table_.CheckHosts(Devs({"cpu:0", "host1/cpu:0"})),
              InvalidArgument("host1/cpu:0", "hosts that have: none"));
  FGNN_ASSERT_OK(Report("host1").status());
  FGNN_ASSERT_OK(Report("host2").status());
  EXPECT_THAT(table_.CheckHosts(Devs({"cpu:0", "host1/cpu:0"})), IsOk());
  EXPECT_THAT(table_.CheckHosts(Devs({"host3/cpu:0"})),
              InvalidArgument("host1, host2"));
  EXPECT_THAT(table_.CheckHosts(Devs({"host1/cpu:0-1"})),
              InvalidArgument("core 1", "host1 has cpu:0"));
  EXPECT_THAT(table_.CheckHosts(Devs({"host1/cuda:0"})),
              InvalidArgument("GPU 0"));
  EXPECT_THAT(table_.CheckHosts(Devs({"head/cpu:0"})),
              InvalidArgument("write cpu:0"));
}

TEST_F(MemberTableTest, AHeadWithoutAnExchangeTakesNoOtherHosts) {
  MemberFacts head = Facts("head");
  head.exchange.clear();
  MemberTable table({.head = head});
  EXPECT_THAT(table.CheckHosts(Devs({"host1/cpu:0"})),
              InvalidArgument("--exchange"));
  EXPECT_THAT(table.CheckHosts(Devs({"cpu:0"})), IsOk());
}

}  // namespace
}  // namespace fgnn
