// What job_order.h promises of those that start and those that wait, of random
// queues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "scheduler/order/job_order.h"
#include "tests/fakes/devices.h"
#include "tests/unit/scheduler/order/chance.h"
#include "tests/unit/scheduler/order/random_queue.h"

namespace fgnn {
namespace {

// Whether `a` has to go before `b`, word for word as the header has it.
bool GoesBefore(const QueuedJob& a, const QueuedJob& b,
                const QueueSnapshot& snapshot) {
  const auto had_by = [&snapshot](const std::string& user) {
    const auto had = snapshot.user_seconds.find(user);
    return had == snapshot.user_seconds.end() ? 0 : had->second;
  };
  if (a.was_interrupted != b.was_interrupted) return a.was_interrupted;
  if (a.priority != b.priority) return a.priority > b.priority;
  const double had_a = had_by(a.user);
  const double had_b = had_by(b.user);
  if (had_a != had_b) return had_a < had_b;
  return a.number < b.number;
}

// The walk through the queue, as somebody who checks it sees it.
struct Walk {
  ServiceResources held;
  size_t num_running = 0;
  struct Reserved {
    ServiceResources resources;
    double lends_for;
  };
  std::vector<Reserved> reserved = {};

  // What a job that may run for `seconds` cannot have.
  ServiceResources TakenFor(double seconds) const {
    ServiceResources taken = held;
    for (const Reserved& one : reserved) {
      if (seconds > one.lends_for) taken |= one.resources;
    }
    return taken;
  }
};

void ExpectIsWhatWasAskedFor(const WantedDevices& wanted,
                             const DeviceSet& devices,
                             const QueueSnapshot& snapshot) {
  if (!wanted.by_number()) {
    EXPECT_EQ(devices.devices, wanted.named.devices);
    EXPECT_EQ(devices.resources, wanted.named.resources);
    return;
  }
  EXPECT_GE(devices.devices.size(), wanted.min);
  EXPECT_LE(devices.devices.size(), wanted.max);
  ServiceResources resources;
  for (const Device& started : devices.devices) {
    const auto device = std::find_if(
        snapshot.devices.begin(), snapshot.devices.end(),
        [&](const ServiceDevice& one) { return one.device == started; });
    ASSERT_NE(device, snapshot.devices.end()) << started.name;
    EXPECT_TRUE(wanted.fits(device->device)) << started.name;
    EXPECT_TRUE((resources & device->resources).none()) << started.name;
    resources |= device->resources;
  }
  EXPECT_EQ(devices.resources, resources);
}

// That who reserves cannot start before what it lends is given back, if limits
// are kept, whenever those without a limit end; nor are its own of the latter.
void ExpectMayLend(const JobWait& wait, const Walk& walk,
                   const QueueSnapshot& snapshot,
                   const std::vector<JobStart>& starts) {
  if (wait.lends_for == 0) return;
  ServiceResources taken;  // Just before.
  const auto add = [&](const ServiceResources& resources, double seconds) {
    if (seconds != kNoLimit && seconds >= wait.lends_for) taken |= resources;
    EXPECT_TRUE(seconds != kNoLimit || (resources & wait.reserved).none());
  };
  for (const RunningJob& job : snapshot.running) {
    add(job.devices.resources, job.is_leaving ? kNoLimit : job.most_seconds);
  }
  for (const JobStart& start : starts) {
    const auto job = std::find_if(
        snapshot.queued.begin(), snapshot.queued.end(),
        [&start](const QueuedJob& one) { return one.id == start.id; });
    add(start.devices.resources, job->most_seconds);
  }
  for (const Walk::Reserved& one : walk.reserved) {
    if (one.lends_for >= wait.lends_for) taken |= one.resources;
  }
  EXPECT_FALSE(IsEnough(snapshot.queued[wait.job].wanted, taken, snapshot));
}

TEST(JobOrderRandomTest, EverybodyHasWhatNobodyElseHasOrHasReserved) {
  size_t num_starts = 0;
  size_t num_borrow = 0;
  size_t num_wait = 0;
  for (uint64_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(seed);
    const QueueSnapshot snapshot = RandomSnapshot(seed);
    const JobOrder order = OrderJobs(snapshot);
    ASSERT_EQ(order.waits.size(), snapshot.queued.size());
    Walk walk = {.held = HeldBy(snapshot.running),
                 .num_running = snapshot.running.size()};
    auto start = order.starts.begin();
    for (const JobWait& wait : order.waits) {
      const QueuedJob& job = snapshot.queued[wait.job];
      SCOPED_TRACE(job.id);
      ASSERT_EQ(wait.ready, IsReady(job, snapshot));
      if (!wait.ready) {
        EXPECT_FALSE(wait.starts);
        EXPECT_TRUE(wait.reserved.none());
        continue;
      }
      const ServiceResources taken = walk.TakenFor(job.most_seconds);
      if (wait.starts) {
        ++num_starts;
        ASSERT_NE(start, order.starts.end());
        ASSERT_EQ(start->id, job.id);
        ExpectIsWhatWasAskedFor(job.wanted, start->devices, snapshot);
        EXPECT_TRUE((start->devices.resources & taken).none());
        // More than it needs is of nobody's.
        ServiceResources of_others = walk.TakenFor(kNoLimit);
        if ((start->devices.resources & of_others).any()) {
          ++num_borrow;
          EXPECT_TRUE(!job.wanted.by_number() ||
                      start->devices.devices.size() == job.wanted.min);
        }
        walk.held |= start->devices.resources;
        ASSERT_LT(walk.num_running++, snapshot.most_running());
        ++start;
        continue;
      }
      ++num_wait;
      EXPECT_TRUE(walk.num_running >= snapshot.most_running() ||
                  !IsEnough(job.wanted, taken, snapshot));
      EXPECT_TRUE(IsEnough(job.wanted, ~wait.reserved, snapshot));
      ExpectMayLend(wait, walk, snapshot, {order.starts.begin(), start});
      walk.reserved.push_back({wait.reserved, wait.lends_for});
    }
    EXPECT_EQ(start, order.starts.end());
  }
  EXPECT_GT(num_starts, kCases / 2);
  EXPECT_GT(num_wait, kCases / 2);
  EXPECT_GT(num_borrow, kCases / 500);
}

TEST(JobOrderRandomTest, TheOrderIsThatOfTheHeaderAndToldToEach) {
  for (uint64_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(seed);
    const QueueSnapshot snapshot = RandomSnapshot(seed);
    const JobOrder order = OrderJobs(snapshot);
    std::set<size_t> seen;
    std::vector<const QueuedJob*> before;
    for (const JobWait& wait : order.waits) {
      const QueuedJob& me = snapshot.queued.at(wait.job);
      EXPECT_TRUE(seen.insert(wait.job).second);
      EXPECT_NE(ReasonOf(wait, order, snapshot), "");
      EXPECT_EQ(ReasonOf(wait, order, snapshot).find('\n'), std::string::npos);
      if (!wait.ready) continue;
      uint32_t higher = 0;
      for (const QueuedJob* const other : before) {
        EXPECT_TRUE(GoesBefore(*other, me, snapshot)) << other->id;
        higher += other->was_interrupted > me.was_interrupted ||
                  (other->was_interrupted == me.was_interrupted &&
                   other->priority > me.priority);
      }
      EXPECT_EQ(wait.of_higher_priority, higher);
      EXPECT_EQ(wait.of_higher_priority + wait.of_users_with_less + wait.older,
                before.size());
      before.push_back(&me);
    }
  }
}

TEST(JobOrderRandomTest, TheOrderDoesNotDependOnThatOfTheSnapshot) {
  for (uint64_t seed = 0; seed < kCases; seed += 10) {
    SCOPED_TRACE(seed);
    const QueueSnapshot snapshot = RandomSnapshot(seed);
    const JobOrder order = OrderJobs(snapshot);
    QueueSnapshot other = snapshot;
    std::reverse(other.queued.begin(), other.queued.end());
    const JobOrder reversed = OrderJobs(other);
    ASSERT_EQ(order.preempted, reversed.preempted);
    for (size_t i = 0; i < order.waits.size(); ++i) {
      ASSERT_EQ(snapshot.queued[order.waits[i].job].id,
                other.queued[reversed.waits[i].job].id);
      ASSERT_EQ(ReasonOf(order.waits[i], order, snapshot),
                ReasonOf(reversed.waits[i], reversed, other));
    }
  }
}

// Seconds; those that may run for ever do so for longer than all that may not.
constexpr double kBeyondLimits = 1000;

// When each job starts if all that run do so for as long as they may. `lasts`:
// of those without a limit.
std::map<std::string, double> StartTimes(
    QueueSnapshot snapshot, const std::map<std::string, double>& lasts) {
  std::map<std::string, double> started;
  std::map<std::string, double> ends;
  const auto ends_in = [&lasts](const std::string& id, double most_seconds) {
    return most_seconds == kNoLimit ? lasts.at(id) : most_seconds;
  };
  for (const RunningJob& job : snapshot.running) {
    ends[job.id] = ends_in(job.id, job.most_seconds);
  }
  double now = 0;
  while (true) {
    const JobOrder order = OrderJobs(snapshot);
    for (const JobStart& start : order.starts) {
      const auto job = std::find_if(
          snapshot.queued.begin(), snapshot.queued.end(),
          [&start](const QueuedJob& one) { return one.id == start.id; });
      started[start.id] = now;
      ends[start.id] = now + ends_in(start.id, job->most_seconds);
      snapshot.running.push_back({.id = start.id,
                                  .can_be_preempted = false,
                                  .devices = start.devices,
                                  .most_seconds = job->most_seconds});
      snapshot.queued.erase(job);
    }
    if (snapshot.running.empty()) return started;
    const auto next =
        std::min_element(snapshot.running.begin(), snapshot.running.end(),
                         [&ends](const RunningJob& a, const RunningJob& b) {
                           return ends.at(a.id) < ends.at(b.id);
                         });
    const double passed = ends.at(next->id) - now;
    now = ends.at(next->id);
    snapshot.running.erase(next);
    for (RunningJob& job : snapshot.running) job.most_seconds -= passed;
  }
}

TEST(JobOrderRandomTest, TheFirstThatWaitsStartsNoLaterForThoseBehindIt) {
  size_t num_waited = 0;
  for (uint64_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(seed);
    QueueSnapshot snapshot = RandomSnapshot(seed);
    Chance chance(seed + kCases);
    std::map<std::string, double> lasts;
    for (RunningJob& job : snapshot.running) {
      job.can_be_preempted = false;
      job.is_leaving = false;
      lasts[job.id] = kBeyondLimits + chance.Below(30);
    }
    std::erase_if(snapshot.queued, [&snapshot](const QueuedJob& job) {
      return !IsReady(job, snapshot);
    });
    for (const QueuedJob& job : snapshot.queued) {
      lasts[job.id] = kBeyondLimits + chance.Below(30);
    }
    const std::map<std::string, double> all = StartTimes(snapshot, lasts);
    ASSERT_EQ(all.size(), snapshot.queued.size());  // Nobody starves.

    const JobOrder order = OrderJobs(snapshot);
    const auto first =
        std::find_if(order.waits.begin(), order.waits.end(),
                     [](const JobWait& wait) { return !wait.starts; });
    if (first == order.waits.end()) continue;
    ++num_waited;
    QueueSnapshot without = snapshot;
    without.queued.clear();
    for (auto wait = order.waits.begin(); wait <= first; ++wait) {
      without.queued.push_back(snapshot.queued[wait->job]);
    }
    const std::string& id = snapshot.queued[first->job].id;
    EXPECT_LE(all.at(id), StartTimes(without, lasts).at(id) + 1e-6) << id;
  }
  EXPECT_GT(num_waited, kCases / 4);
}

}  // namespace
}  // namespace fgnn
