#include "scheduler/store/job_lister.h"

#include <algorithm>

#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr uint32_t kMaxListed = 10'000;

}  // namespace

absl::StatusOr<std::vector<Job>> JobLister::List(
    const JobFilter& filter, uint32_t limit,
    absl::FunctionRef<void(std::vector<Job>&)> describe) {
  JobFilter found = filter;
  const uint32_t page = std::min(limit, kMaxListed);
  while (true) {
    std::vector<Job> jobs;
    {
      const MutexLock lock(&mutex_);
      FGNN_ASSIGN_OR_RETURN(jobs, reader_.Find(found, page));
    }
    const bool may_be_more = !jobs.empty() && jobs.size() >= page;
    if (may_be_more) found.before_id = jobs.back().id;
    describe(jobs);
    // Clients take an empty page as the last one, so the next page is read.
    if (!jobs.empty() || !may_be_more) return jobs;
  }
}

}  // namespace fgnn
