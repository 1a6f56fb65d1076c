// The trainers' caches of a run: the order by which they cache, and how many
// rows.
#ifndef FGNN_SCHEDULER_RUN_RUN_CACHES_H_
#define FGNN_SCHEDULER_RUN_RUN_CACHES_H_

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "scheduler/planning/cache_capacity.h"
#include "scheduler/run/run_context.h"
#include "scheduler/run/run_memory.h"
#include "scheduler/run/run_progress.h"

namespace fgnn {

// Not thread-safe: for the job's thread.
class RunCaches {
 public:
  // Borrows all.
  RunCaches(RunContext* run, RunMemory* memory, RunProgress* progress)
      : run_(*run), memory_(*memory), progress_(*progress) {}

  // Makes an order to cache by, if trainers cache and there is none. To be
  // called before the segment is made.
  absl::Status Rank();
  // With policy online, ranks the vertices once enough was counted. To be
  // called after an epoch that is not the last.
  absl::Status RankByOnlineCounts();
  // Adapts the caches' capacity to the memory that the epoch took. To be called
  // after an epoch that is not the last.
  absl::Status Adapt();

 private:
  // Returns the folder that samplers count into.
  std::filesystem::path CountsOfService() const;
  // Returns the caches of the epoch that is over.
  CacheUse UseOf(const CachePlan& plan);
  // Whether standby trainers have caches of another size.
  bool HasStandbyCaches() const;
  std::string Describe(const CacheRows& rows) const;
  void Log(double ranking_seconds) const;

  RunContext& run_;
  RunMemory& memory_;
  RunProgress& progress_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_RUN_CACHES_H_
