#include "scheduler/jobs/job_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "scheduler/jobs/user_shares.h"
#include "shared/base/philox.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

// Numbers in [0, below), drawn from a seed.
class Chance {
 public:
  explicit Chance(uint64_t seed) : key_{static_cast<uint32_t>(seed), 8} {}
  uint32_t Below(uint32_t below) {
    return Philox4x32({++draws_, 0, 0, 0}, key_).words[0] % below;
  }

 private:
  const PhiloxKey key_;
  uint32_t draws_ = 0;
};

QueueSnapshot RandomSnapshot(uint64_t seed) {
  Chance chance(seed);
  QueueSnapshot snapshot;
  const uint32_t jobs = chance.Below(12);
  for (uint32_t i = 0; i < jobs; ++i) {
    QueuedJob& job = snapshot.queued.emplace_back();
    job.id = absl::StrCat("job", i);
    job.user = absl::StrCat("user", chance.Below(3));
    job.priority = static_cast<int32_t>(chance.Below(3)) - 1;
    job.number = (i * 7) % 12;
    job.was_interrupted = chance.Below(10) == 0;
    if (chance.Below(5) == 0) job.after = {"earlier"};
    if (chance.Below(5) == 0) job.held_seconds = 2.5;
  }
  for (int user = 0; user < 2; ++user) {
    snapshot.user_seconds[absl::StrCat("user", user)] = chance.Below(3);
  }
  if (chance.Below(2) == 0) {
    snapshot.running =
        RunningJob{"running", static_cast<int32_t>(chance.Below(3)) - 1,
                   chance.Below(4) != 0};
  }
  return snapshot;
}

double HadBy(const QueueSnapshot& snapshot, const std::string& user) {
  const auto had = snapshot.user_seconds.find(user);
  return had == snapshot.user_seconds.end() ? 0 : had->second;
}

// Whether `a` has to go before `b`, word for word as the header has it.
bool GoesBefore(const QueuedJob& a, const QueuedJob& b,
                const QueueSnapshot& snapshot) {
  if (a.was_interrupted != b.was_interrupted) return a.was_interrupted;
  if (a.priority != b.priority) return a.priority > b.priority;
  const double had_a = HadBy(snapshot, a.user);
  const double had_b = HadBy(snapshot, b.user);
  if (had_a != had_b) return had_a < had_b;
  return a.number < b.number;
}

TEST(JobOrderTest, TheNextOneIsReadyAndNoReadyOneGoesBeforeIt) {
  int with_next = 0;
  for (uint64_t seed = 0; seed < 2'000; ++seed) {
    SCOPED_TRACE(seed);
    const QueueSnapshot snapshot = RandomSnapshot(seed);
    const JobOrder order = OrderJobs(snapshot);
    ASSERT_EQ(order.waits.size(), snapshot.queued.size());
    const auto is_ready = [](const QueuedJob& job) {
      return job.after.empty() && job.held_seconds == 0;
    };
    const auto next = std::find_if(
        snapshot.queued.begin(), snapshot.queued.end(),
        [&](const QueuedJob& job) { return job.id == order.next; });
    const bool any_ready =
        std::any_of(snapshot.queued.begin(), snapshot.queued.end(), is_ready);
    ASSERT_EQ(next != snapshot.queued.end(), any_ready);
    if (!any_ready) continue;
    ++with_next;
    EXPECT_TRUE(is_ready(*next));
    for (const QueuedJob& other : snapshot.queued) {
      EXPECT_FALSE(is_ready(other) && GoesBefore(other, *next, snapshot))
          << other.id << " should go before " << next->id;
    }
    EXPECT_EQ(order.takes_devices,
              snapshot.running.has_value() && snapshot.running->can_give_way &&
                  next->priority > snapshot.running->priority);
  }
  EXPECT_GT(with_next, 1'000);
}

TEST(JobOrderTest, EachIsToldHowManyGoBeforeItAndWhy) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    const QueueSnapshot snapshot = RandomSnapshot(seed);
    const JobOrder order = OrderJobs(snapshot);
    std::set<std::string> ids;
    std::map<std::string, QueuedJob> jobs;
    for (const QueuedJob& job : snapshot.queued) jobs[job.id] = job;
    uint32_t ready_before = 0;
    for (const JobWait& wait : order.waits) {
      const QueuedJob& me = snapshot.queued.at(wait.job);
      ids.insert(me.id);
      EXPECT_NE(ReasonOf(wait, order, snapshot), "");
      if (!wait.ready) continue;
      EXPECT_EQ(wait.of_higher_priority + wait.of_users_with_less + wait.older,
                ready_before);
      uint32_t higher = 0;
      for (const auto& [id, job] : jobs) {
        const bool ready = job.after.empty() && job.held_seconds == 0;
        higher += ready && (job.was_interrupted > me.was_interrupted ||
                            (job.was_interrupted == me.was_interrupted &&
                             job.priority > me.priority));
      }
      EXPECT_EQ(wait.of_higher_priority, higher);
      ++ready_before;
    }
    EXPECT_EQ(ids.size(), snapshot.queued.size());
  }
}

TEST(JobOrderTest, TheOrderDoesNotDependOnThatOfTheSnapshot) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const QueueSnapshot snapshot = RandomSnapshot(seed);
    const JobOrder order = OrderJobs(snapshot);
    QueueSnapshot other = snapshot;
    std::reverse(other.queued.begin(), other.queued.end());
    const JobOrder reversed = OrderJobs(other);
    ASSERT_EQ(order.next, reversed.next);
    for (size_t i = 0; i < order.waits.size(); ++i) {
      ASSERT_EQ(snapshot.queued[order.waits[i].job].id,
                other.queued[reversed.waits[i].job].id);
      ASSERT_EQ(ReasonOf(order.waits[i], order, snapshot),
                ReasonOf(reversed.waits[i], reversed, other));
    }
  }
}

// A user who keeps the queue full cannot keep another one out, and both get
// the same of the devices though their jobs take different times.
TEST(JobOrderTest, UsersOfEqualPriorityShareTheDevices) {
  QueueSnapshot snapshot;
  UserShares shares;
  std::map<std::string, int> started;
  uint64_t number = 0;
  const std::map<std::string, double> seconds_each = {
      {"many", 1}, {"long", 4}, {"few", 2}};
  const auto submit = [&](const std::string& user) {
    snapshot.queued.push_back(
        {.id = absl::StrCat(++number), .user = user, .number = number});
  };
  for (int i = 0; i < 200; ++i) submit("many");
  for (int i = 0; i < 50; ++i) submit("long");
  for (int i = 0; i < 100; ++i) submit("few");
  for (int start = 0; start < 140; ++start) {
    snapshot.user_seconds = shares.seconds();
    const JobOrder order = OrderJobs(snapshot);
    const auto next = std::find_if(
        snapshot.queued.begin(), snapshot.queued.end(),
        [&](const QueuedJob& job) { return job.id == order.next; });
    ++started[next->user];
    shares.Charge(next->user, seconds_each.at(next->user), 1'000 * start);
    snapshot.queued.erase(next);
  }
  EXPECT_NEAR(started["many"], 80, 4);
  EXPECT_NEAR(started["few"], 40, 2);
  EXPECT_NEAR(started["long"], 20, 1);
}

TEST(JobOrderTest, ReasonsAreInWords) {
  QueueSnapshot snapshot;
  snapshot.running = RunningJob{"r", 0};
  snapshot.queued = {
      {.id = "a", .user = "u", .priority = 5, .number = 1},
      {.id = "b", .user = "u", .priority = 0, .number = 2},
      {.id = "c", .user = "u", .priority = 0, .number = 3},
      {.id = "d", .user = "u", .number = 4, .after = {"x", "y", "z", "zz"}},
      {.id = "e", .user = "u", .number = 5, .held_seconds = 3.2}};
  std::map<std::string, std::string> reasons;
  const JobOrder order = OrderJobs(snapshot);
  for (const JobWait& wait : order.waits) {
    reasons[snapshot.queued[wait.job].id] = ReasonOf(wait, order, snapshot);
  }
  EXPECT_EQ(reasons["a"], "next; job r gives way to it");
  EXPECT_EQ(reasons["b"], "behind 1 job: 1 of higher priority");
  EXPECT_EQ(reasons["c"],
            "behind 2 jobs: 1 of higher priority, 1 submitted before");
  EXPECT_EQ(reasons["d"], "waits for jobs x, y, z and 1 more");
  EXPECT_THAT(reasons["e"], HasSubstr("for 4 s more"));
}

TEST(UserSharesTest, HalfIsForgottenEachDay) {
  constexpr int64_t kDayMs = 86'400'000;
  UserShares shares;
  shares.Charge("old", 100, 0);
  shares.Charge("new", 50, kDayMs);
  EXPECT_DOUBLE_EQ(shares.seconds().at("old"), shares.seconds().at("new"));
  // Years later numbers are still numbers.
  shares.Charge("new", 1, 5'000 * kDayMs);
  EXPECT_NEAR(shares.seconds().at("new"), 1, 1e-9);
  EXPECT_NEAR(shares.seconds().at("old"), 0, 1e-9);
}

}  // namespace
}  // namespace fgnn
