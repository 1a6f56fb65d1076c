// The jobs that have ended since the service started, by number.
#ifndef FGNN_SCHEDULER_JOBS_ENDED_JOBS_H_
#define FGNN_SCHEDULER_JOBS_ENDED_JOBS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "scheduler/store/job_state.h"

namespace fgnn {

// Not thread-safe: the caller holds the table's mutex.
class EndedJobs {
 public:
  void Add(const std::string& id, JobState state) {
    ++ended_[state];
    if (unseen_.size() < kMaxUnseen) unseen_.insert(id);
  }
  // Notes that a client knows how the job ended. Returns false if a client knew
  // before.
  bool MarkSeen(const std::string& id) { return unseen_.erase(id) > 0; }
  size_t num_unseen() const { return unseen_.size(); }
  // Returns the number of jobs that have ended in this state so far.
  uint64_t num(JobState state) const {
    const auto found = ended_.find(state);
    return found == ended_.end() ? 0 : found->second;
  }

 private:
  static constexpr size_t kMaxUnseen = 10'000;

  // Ids of jobs whose end no client knows yet. The set is bounded: further jobs
  // are left out.
  std::set<std::string> unseen_;
  std::map<JobState, uint64_t> ended_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_ENDED_JOBS_H_
