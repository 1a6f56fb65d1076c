#include "scheduler/order/job_order.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "scheduler/order/device_ledger.h"

namespace fgnn {
namespace {

bool IsReady(const QueuedJob& job, const QueueSnapshot& snapshot) {
  return job.after.empty() && job.held_seconds <= 0 &&
         CheckCanHave(job.wanted, snapshot.devices).ok() &&
         CheckAreThere(job.wanted, snapshot.devices, snapshot.hosts).ok();
}

// Sort key of a queued job: the smaller key goes first.
struct Rank {
  bool waits = false;
  bool is_new = true;
  int64_t less_important = 0;
  double had_seconds = 0;
  uint64_t number = 0;

  bool operator<(const Rank& other) const {
    return std::tie(waits, is_new, less_important, had_seconds, number) <
           std::tie(other.waits, other.is_new, other.less_important,
                    other.had_seconds, other.number);
  }
};

Rank RankOf(const QueuedJob& job, const QueueSnapshot& snapshot) {
  const auto had = snapshot.user_seconds.find(job.user);
  return {.waits = !IsReady(job, snapshot),
          .is_new = !job.was_interrupted,
          .less_important = -int64_t{job.priority},
          .had_seconds = had == snapshot.user_seconds.end() ? 0.0 : had->second,
          .number = job.number};
}

// Returns a wait for each of `sorted`, with the number of jobs before it: of
// higher priority, of users with less, older.
std::vector<JobWait> CountThoseBefore(
    const std::vector<std::pair<Rank, const QueuedJob*>>& sorted,
    const QueueSnapshot& snapshot) {
  std::vector<JobWait> waits;
  waits.reserve(sorted.size());
  uint32_t before = 0;
  uint32_t of_priority = 0;
  uint32_t of_share = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const auto& [rank, job] = sorted[i];
    const bool same_priority =
        i > 0 && sorted[i - 1].first.is_new == rank.is_new &&
        sorted[i - 1].first.less_important == rank.less_important;
    const bool same_share =
        same_priority && sorted[i - 1].first.had_seconds == rank.had_seconds;
    if (!same_priority) of_priority = 0;
    if (!same_share) of_share = 0;
    JobWait& wait = waits.emplace_back();
    wait.job = static_cast<size_t>(job - snapshot.queued.data());
    wait.ready = !rank.waits;
    if (wait.ready) {
      wait.of_higher_priority = before - of_priority;
      wait.of_users_with_less = of_priority - of_share;
      wait.older = of_share;
    }
    ++before;
    ++of_priority;
    ++of_share;
  }
  return waits;
}

bool Has(const std::vector<std::string>& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

bool JobOrder::is_preempted(const std::string& id) const {
  return Has(preempted, id);
}

bool JobOrder::grows(const std::string& id) const { return Has(grow, id); }

JobOrder OrderJobs(const QueueSnapshot& snapshot) {
  std::vector<std::pair<Rank, const QueuedJob*>> sorted;
  sorted.reserve(snapshot.queued.size());
  for (const QueuedJob& job : snapshot.queued) {
    sorted.emplace_back(RankOf(job, snapshot), &job);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  JobOrder order;
  order.waits = CountThoseBefore(sorted, snapshot);
  DeviceLedger ledger(snapshot);
  for (JobWait& wait : order.waits) {
    if (!wait.ready) break;  // The jobs behind it are not ready either.
    const QueuedJob& job = snapshot.queued[wait.job];
    if (const auto devices = ledger.FindStart(job); devices.has_value()) {
      wait.starts = true;
      order.starts.push_back({job.id, *devices});
      ledger.Start(job, *devices);
      continue;
    }
    if (const auto leave = ledger.FindPreempted(job); leave.has_value()) {
      for (const size_t one : *leave) {
        order.preempted.push_back(snapshot.running[one].id);
      }
      ledger.Preempt(*leave);
    }
    const DeviceLedger::Reservation made = ledger.Reserve(job);
    wait.reserved = made.resources;
    wait.lends_for = made.lends_for;
  }
  for (const size_t one : ledger.FindWhoGrows()) {
    order.grow.push_back(snapshot.running[one].id);
  }
  return order;
}

}  // namespace fgnn
