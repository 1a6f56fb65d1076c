// What job_order.h promises of those that run, of random queues: who is
// preempted, and who grows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <string>

#include "scheduler/order/job_order.h"
#include "tests/unit/scheduler/order/random_queue.h"

namespace fgnn {
namespace {

// The fewest of those that may be preempted for the job, found by trying all
// sets; nullopt: none are enough.
std::optional<size_t> FewestByTrying(const QueuedJob& job,
                                     const QueueSnapshot& snapshot,
                                     const ServiceResources& started,
                                     size_t num_started) {
  std::optional<size_t> fewest;
  for (uint32_t set = 0; set < 1u << snapshot.running.size(); ++set) {
    ServiceResources held = started;
    size_t staying = num_started;
    bool may = true;
    for (size_t i = 0; i < snapshot.running.size(); ++i) {
      const RunningJob& running = snapshot.running[i];
      if ((set >> i & 1) != 0) {
        may &= running.can_be_preempted && !running.is_leaving &&
               running.priority < job.priority;
      } else if (!running.is_leaving) {
        held |= running.devices.resources;
        ++staying;
      }
    }
    const auto count = static_cast<size_t>(std::popcount(set));
    if (may && staying < snapshot.most_running() &&
        IsEnough(job.wanted, held, snapshot) &&
        (!fewest.has_value() || count < *fewest)) {
      fewest = count;
    }
  }
  return fewest;
}

TEST(RunningJobsRandomTest, TheFewestArePreemptedThatAreEnoughAndElseNone) {
  size_t num_preempted = 0;
  for (uint64_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(seed);
    QueueSnapshot snapshot = RandomSnapshot(seed);
    JobOrder order = OrderJobs(snapshot);
    // The first that waits, and those before it.
    const auto first =
        std::find_if(order.waits.begin(), order.waits.end(),
                     [](const JobWait& w) { return w.ready && !w.starts; });
    if (first == order.waits.end()) continue;
    const QueuedJob job = snapshot.queued[first->job];
    std::vector<QueuedJob> queued;
    for (auto wait = order.waits.begin(); wait <= first; ++wait) {
      queued.push_back(snapshot.queued[wait->job]);
    }
    snapshot.queued = queued;
    order = OrderJobs(snapshot);
    ServiceResources started;
    for (const JobStart& start : order.starts)
      started |= start.devices.resources;
    EXPECT_EQ(order.preempted.size(),
              FewestByTrying(job, snapshot, started, order.starts.size())
                  .value_or(0));
    if (order.preempted.empty()) continue;
    ++num_preempted;
    // Once they have left, and those that start have not ended, it starts.
    std::erase_if(snapshot.running, [&order](const RunningJob& running) {
      return running.is_leaving || order.is_preempted(running.id);
    });
    for (const JobStart& start : order.starts) {
      snapshot.running.push_back({.id = start.id, .devices = start.devices});
    }
    snapshot.queued = {job};
    EXPECT_EQ(OrderJobs(snapshot).starts.size(), 1U);
  }
  EXPECT_GT(num_preempted, kCases / 50);
}

TEST(RunningJobsRandomTest, WhoGrowsGetsWhatNobodyElseWantsAndNoneIsLeft) {
  size_t num_grow = 0;
  for (uint64_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(seed);
    const QueueSnapshot snapshot = RandomSnapshot(seed);
    const JobOrder order = OrderJobs(snapshot);
    ServiceResources taken = HeldBy(snapshot.running);
    for (const JobStart& start : order.starts) taken |= start.devices.resources;
    for (const JobWait& wait : order.waits) taken |= wait.reserved;
    // The most important and oldest one first, each as many as it may have.
    std::vector<const RunningJob*> sorted;
    for (const RunningJob& job : snapshot.running) sorted.push_back(&job);
    std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
      return a->priority != b->priority ? a->priority > b->priority
                                        : a->started < b->started;
    });
    std::vector<std::string> grow;
    for (const RunningJob* job : sorted) {
      if (!job->gains_by_more || order.is_preempted(job->id)) continue;
      size_t has = job->devices.devices.size();
      const size_t had = has;
      for (const ServiceDevice& device : snapshot.devices) {
        if (has == job->wanted.max || (device.resources & taken).any() ||
            !job->wanted.fits(device.device)) {
          continue;
        }
        taken |= device.resources;
        ++has;
      }
      if (has > had) grow.push_back(job->id);
    }
    EXPECT_EQ(order.grow, grow);
    num_grow += grow.size();
  }
  EXPECT_GT(num_grow, kCases / 20);
}

}  // namespace
}  // namespace fgnn
