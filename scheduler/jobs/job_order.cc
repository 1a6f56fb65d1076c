#include "scheduler/jobs/job_order.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace fgnn {
namespace {

// Jobs that a reason names.
constexpr size_t kMostNamed = 3;

bool IsReady(const QueuedJob& job) {
  return job.after.empty() && job.held_seconds <= 0;
}

// Smaller goes first.
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
  return {.waits = !IsReady(job),
          .is_new = !job.was_interrupted,
          .less_important = -int64_t{job.priority},
          .had_seconds = had == snapshot.user_seconds.end() ? 0.0 : had->second,
          .number = job.number};
}

// "job A", "jobs A, B and 2 more".
std::string NameJobs(const std::vector<std::string>& ids) {
  const size_t named = std::min(ids.size(), kMostNamed);
  std::string text =
      absl::StrCat(ids.size() == 1 ? "job " : "jobs ",
                   absl::StrJoin(ids.begin(), ids.begin() + named, ", "));
  if (ids.size() > named)
    absl::StrAppend(&text, " and ", ids.size() - named, " more");
  return text;
}

}  // namespace

JobOrder OrderJobs(const QueueSnapshot& snapshot) {
  std::vector<std::pair<Rank, const QueuedJob*>> sorted;
  sorted.reserve(snapshot.queued.size());
  for (const QueuedJob& job : snapshot.queued) {
    sorted.emplace_back(RankOf(job, snapshot), &job);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  JobOrder order;
  if (!sorted.empty() && IsReady(*sorted.front().second)) {
    const QueuedJob& next = *sorted.front().second;
    order.next = next.id;
    order.takes_devices = snapshot.running.has_value() &&
                          snapshot.running->can_give_way &&
                          next.priority > snapshot.running->priority;
  }
  // Of those before: how many in all, of this priority, of this user's share.
  uint32_t before = 0;
  uint32_t of_priority = 0;
  uint32_t of_share = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const auto& [rank, job] = sorted[i];
    const bool first = i == 0;
    const bool same_priority =
        !first && sorted[i - 1].first.is_new == rank.is_new &&
        sorted[i - 1].first.less_important == rank.less_important;
    const bool same_share =
        same_priority && sorted[i - 1].first.had_seconds == rank.had_seconds;
    if (!same_priority) of_priority = 0;
    if (!same_share) of_share = 0;
    JobWait wait;
    wait.job = static_cast<size_t>(job - snapshot.queued.data());
    wait.ready = IsReady(*job);
    if (wait.ready) {
      wait.of_higher_priority = before - of_priority;
      wait.of_users_with_less = of_priority - of_share;
      wait.older = of_share;
    }
    order.waits.push_back(wait);
    ++before;
    ++of_priority;
    ++of_share;
  }
  return order;
}

std::string ReasonOf(const JobWait& wait, const JobOrder& order,
                     const QueueSnapshot& snapshot) {
  const QueuedJob& job = snapshot.queued[wait.job];
  if (!job.after.empty()) {
    return absl::StrCat("waits for ", NameJobs(job.after));
  }
  if (job.held_seconds > 0) {
    return absl::StrCat("held back after what went wrong, for ",
                        std::ceil(job.held_seconds), " s more");
  }
  const uint32_t ahead =
      wait.of_higher_priority + wait.of_users_with_less + wait.older;
  if (ahead > 0) {
    std::vector<std::string> kinds;
    const auto add = [&kinds](uint32_t count, const char* what) {
      if (count > 0) kinds.push_back(absl::StrCat(count, what));
    };
    add(wait.of_higher_priority, " of higher priority");
    add(wait.of_users_with_less, " of users who have had less");
    add(wait.older, " submitted before");
    return absl::StrCat("behind ", ahead, ahead == 1 ? " job: " : " jobs: ",
                        absl::StrJoin(kinds, ", "));
  }
  if (!snapshot.running.has_value()) return "starts next";
  return absl::StrCat(
      "next; job ", snapshot.running->id,
      order.takes_devices ? " gives way to it" : " has the devices");
}

}  // namespace fgnn
