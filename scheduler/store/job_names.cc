#include "scheduler/store/job_names.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// Most jobs that an error lists.
constexpr uint32_t kMostListed = 3;
// Jobs that are read at once.
constexpr uint32_t kPage = 100;

absl::Status NamesSeveral(const std::string& word,
                          const std::vector<Job>& found) {
  std::vector<std::string> ids;
  for (const Job& job : found) {
    ids.push_back(ids.size() < kMostListed ? job.id : "…");
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", word, "' names more than one job: ", absl::StrJoin(ids, ", "),
      "; write more of the id"));
}

// Returns whether a later job that was found resumed the run of this one.
bool IsResumed(const Job& job, const std::vector<Job>& found) {
  return std::any_of(found.begin(), found.end(), [&](const Job& later) {
    return later.run_dir == job.run_dir && later.name == job.name;
  });
}

// Returns the newest jobs that have this name or this text in their id, at most
// one more than an error lists. Of the jobs of this name in the same run folder
// it returns the newest.
absl::StatusOr<std::vector<Job>> FindByNameOrPart(JobStore& store,
                                                  const std::string& text) {
  std::vector<Job> found;
  // The store looks into other fields too.
  JobFilter filter = {.search = text};
  while (true) {
    FGNN_ASSIGN_OR_RETURN(std::vector<Job> page, store.Find(filter, kPage));
    for (Job& job : page) {
      const bool is_named = (job.name == text && !IsResumed(job, found)) ||
                            job.id.find(text) != std::string::npos;
      filter.before_id = job.id;
      if (is_named) found.push_back(std::move(job));
      if (found.size() > kMostListed) return found;
    }
    if (page.size() < kPage) return found;
  }
}

}  // namespace

absl::StatusOr<Job> FindNamedJob(JobStore& store, const std::string& word) {
  if (word.empty()) return absl::InvalidArgumentError("job_id is empty");
  FGNN_ASSIGN_OR_RETURN(std::vector<Job> found, store.FindByPrefix(word, 1));
  if (!found.empty() && found.front().id == word) {
    return std::move(found.front());
  }
  if (word == kLastJob) {
    FGNN_ASSIGN_OR_RETURN(found, store.Find({}, 1));
  } else {
    FGNN_ASSIGN_OR_RETURN(found, FindByNameOrPart(store, word));
  }
  if (found.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no job '", word, "'; 'fgnn jobs' lists those there are"));
  }
  if (found.size() > 1) return NamesSeveral(word, found);
  return std::move(found.front());
}

}  // namespace fgnn
