// Counts and ranks the vertices that a job's trainers cache, by its samplers.
#ifndef FGNN_SCHEDULER_EXECUTORS_JOB_RANKING_H_
#define FGNN_SCHEDULER_EXECUTORS_JOB_RANKING_H_

#include <cstdint>
#include <filesystem>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/executors/executor_caller.h"
#include "scheduler/executors/executor_calls.h"

namespace fgnn {

// Not thread-safe: for the job's thread alone.
class JobRanking {
 public:
  // Borrows the caller.
  explicit JobRanking(ExecutorCaller* caller) : caller_(caller) {}

  // Makes the order that the job caches by, unless one is saved with the
  // dataset. All samplers count at once, with files in `folder` that are
  // removed afterwards. The folder is the service's alone, and made here.
  // Returns the order's key.
  absl::StatusOr<uint64_t> RankVertices(const std::filesystem::path& folder);
  // With policy online, returns the key of an order that was saved before; 0:
  // there is none.
  absl::StatusOr<uint64_t> FindRankOrder();
  // With policy online, ranks by the counts of the attached samplers, with
  // files in `folder` that are removed afterwards. Returns the order's key; 0:
  // no sampler could write its counts.
  absl::StatusOr<uint64_t> RankByOnlineCounts(
      const std::filesystem::path& folder);

 private:
  absl::StatusOr<RankedVertices> RankBy(
      const std::vector<std::filesystem::path>& counts, bool attached);
  // Has samplers count, each into one of `files`.
  absl::Status CountInputNodes(const std::vector<std::filesystem::path>& files);

  ExecutorCaller* const caller_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_JOB_RANKING_H_
