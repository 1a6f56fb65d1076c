#include "scheduler/store/job_names.h"

#include <cstdint>
#include <set>
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

// Returns the user's newest job that has the name `text`. If there is none,
// returns the newest jobs that are named so, one of each other user, or that
// have the text in their id; at most one more than an error lists.
absl::StatusOr<std::vector<Job>> FindByNameOrPart(JobStore& store,
                                                  const std::string& text,
                                                  const std::string& user) {
  std::vector<Job> found;
  std::set<std::string> users;  // Users who have a job of this name.
  // The store looks into other fields too.
  JobFilter filter = {.search = text};
  while (true) {
    FGNN_ASSIGN_OR_RETURN(std::vector<Job> page, store.Find(filter, kPage));
    for (Job& job : page) {
      filter.before_id = job.id;
      const bool has_name = job.options.name == text;
      if (has_name && job.user == user) return {{std::move(job)}};
      const bool is_named = (has_name && users.insert(job.user).second) ||
                            job.id.find(text) != std::string::npos;
      if (is_named && found.size() <= kMostListed) {
        found.push_back(std::move(job));
      }
    }
    if (page.size() < kPage) return found;
  }
}

}  // namespace

absl::StatusOr<Job> FindNamedJob(JobStore& store, const std::string& word,
                                 const std::string& user) {
  if (word.empty()) return absl::InvalidArgumentError("job_id is empty");
  FGNN_ASSIGN_OR_RETURN(std::vector<Job> found, store.FindByPrefix(word, 1));
  if (!found.empty() && found.front().id == word) {
    return std::move(found.front());
  }
  if (word == kLastJob) {
    FGNN_ASSIGN_OR_RETURN(found, store.Find({}, 1));
  } else {
    FGNN_ASSIGN_OR_RETURN(found, FindByNameOrPart(store, word, user));
  }
  if (found.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no job '", word, "'; 'fgnn jobs' lists those there are"));
  }
  if (found.size() > 1) return NamesSeveral(word, found);
  return std::move(found.front());
}

}  // namespace fgnn
