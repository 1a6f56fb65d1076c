#include "scheduler/store/job_names.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"

namespace fgnn {

absl::StatusOr<Job> FindNamedJob(JobStore& store, const std::string& word) {
  if (word.empty()) return absl::InvalidArgumentError("job_id is empty");
  FGNN_ASSIGN_OR_RETURN(std::vector<Job> found, store.FindByPrefix(word, 2));
  if (found.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no job '", word, "'; 'fgnn jobs' lists those there are"));
  }
  if (found.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "more than one job begins with '", word, "'; write more of the id"));
  }
  return std::move(found.front());
}

}  // namespace fgnn
