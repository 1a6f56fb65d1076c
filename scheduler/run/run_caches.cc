#include "scheduler/run/run_caches.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "scheduler/executors/shortage_wait.h"
#include "scheduler/planning/gpu_plan.h"
#include "scheduler/run/prepare_run.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/config/state_dir.h"
#include "shared/device/memory.h"
#include "shared/telemetry/log.h"

namespace fgnn {

absl::Status RunCaches::Rank() {
  if (!run_.started->segment.plans_caches()) return absl::OkStatus();
  const Stopwatch watch;
  FGNN_ASSIGN_OR_RETURN(const uint64_t key,
                        RankForCaches(run_, run_.started->segment, [this] {
                          progress_.EnterPreparation("pre-sampling");
                        }));
  run_.started->segment.rank_order_key = key;
  if (key != 0) Log(watch.Seconds());
  return absl::OkStatus();
}

absl::Status RunCaches::RankByOnlineCounts() {
  JobSegment& segment = run_.executors.segment();
  if (!run_.started->segment.plans_caches() ||
      segment.cache_plan().rank_order_key != 0 ||
      run_.spec.cache.policy != kOnlinePolicy ||
      run_.started->epochs_done < run_.spec.cache.epochs) {
    return absl::OkStatus();
  }
  progress_.EnterPhase("ranking what was counted");
  const Stopwatch watch;
  ShortageWait wait(run_.job.id, "the ranking", run_.environment.clock,
                    [this] { return run_.executors.Tick(); });
  absl::StatusOr<uint64_t> key =
      run_.executors.ranking().RankByOnlineCounts(CountsOfService());
  while (!key.ok()) {
    const absl::Status next = wait.BeforeNextTry(key.status());
    if (!next.ok()) return Annotate(next, "cache.policy");
    key = run_.executors.ranking().RankByOnlineCounts(CountsOfService());
  }
  CachePlan plan = segment.cache_plan();
  plan.rank_order_key = *key;
  FGNN_RETURN_IF_ERROR(segment.SetCachePlan(plan));
  if (*key != 0) Log(watch.Seconds());
  return absl::OkStatus();
}

// A user may move the run's folder, and have samplers write elsewhere.
std::filesystem::path RunCaches::CountsOfService() const {
  return CountsFolder(run_.environment.host->options().state_dir);
}

absl::Status RunCaches::Adapt() {
  JobSegment& segment = run_.executors.segment();
  const CachePlan plan = segment.cache_plan();
  if (!run_.started->segment.plans_caches()) return absl::OkStatus();
  CacheUse use = UseOf(plan);
  // Devices that have changed roles get the caches of their new roles.
  segment.devices().CacheAsPlanned();
  if (!run_.started->segment.shares_table()) {
    use.standbys.next_count = segment.devices().NumStandbyCaches();
    use.trainers.next_count =
        run_.spec.num_trainers() - use.standbys.next_count;
  }
  // Caches of GPUs take no memory of the host, which is what was measured.
  if (plan.rank_order_key == 0 || TrainsOnGpus(run_.spec)) {
    return absl::OkStatus();
  }
  memory_.Measure();
  FGNN_ASSIGN_OR_RETURN(uint64_t available, AvailableMemoryBytes());
  available -=
      std::min(available, run_.environment.memory->OfOthers(run_.job.id));
  use.peak_bytes = memory_.epoch_peak_bytes();
  use.have_bytes = std::min(run_.spec.limits.memory_bytes.value_or(UINT64_MAX),
                            available + use.peak_bytes);
  CacheRows rows = AdaptedCacheRows(use);
  if (run_.started->segment.shares_table()) rows.standby = rows.trainer;
  CachePlan next = plan;
  next.rows = rows.trainer;
  next.standby_rows = rows.standby;
  if (next == plan) return absl::OkStatus();
  LogInfo(
      "job {}: the epoch took {} of {}: {} from now on, {} vertices before{}",
      run_.job.id, FormatBytes(use.peak_bytes), FormatBytes(use.have_bytes),
      Describe(rows), plan.rows,
      HasStandbyCaches() ? absl::StrCat(" and ", plan.standby_rows) : "");
  return segment.SetCachePlan(next);
}

CacheUse RunCaches::UseOf(const CachePlan& plan) {
  const CacheSpec& cache = run_.spec.cache;
  const DatasetShape& shape = run_.dataset->facts.shape;
  CacheUse use;
  use.row_bytes = shape.feature_row_bytes;
  use.trainers.most_rows = cache.capacity.has_value()
                               ? run_.started->segment.cache_rows
                               : shape.num_nodes;
  use.trainers.rows = plan.rows;
  if (run_.started->segment.shares_table()) {  // All trainers hold one table.
    use.trainers.count = 1;
    use.trainers.next_count = 1;
    return use;
  }
  use.standbys.rows = plan.standby_rows;
  use.standbys.count = run_.executors.segment().devices().NumStandbyCaches();
  use.trainers.count = run_.spec.num_trainers() - use.standbys.count;
  use.standbys.most_rows = cache.standby_capacity.has_value()
                               ? run_.started->segment.standby_cache_rows
                               : use.trainers.most_rows;
  if (!run_.spec.has_standbys()) use.standbys.most_rows = 0;
  return use;
}

bool RunCaches::HasStandbyCaches() const {
  return run_.spec.has_standbys() && !run_.started->segment.shares_table();
}

std::string RunCaches::Describe(const CacheRows& rows) const {
  if (run_.started->segment.shares_table()) {
    return absl::StrCat("all trainers share a table of ", rows.trainer,
                        " vertices");
  }
  return absl::StrCat(
      "each trainer caches ", rows.trainer, " vertices",
      HasStandbyCaches() ? absl::StrCat(", each standby trainer ", rows.standby)
                         : "");
}

void RunCaches::Log(double ranking_seconds) const {
  LogInfo("job {}: {} by {}, ranked in {:.1f} s", run_.job.id,
          Describe({run_.started->segment.cache_rows,
                    run_.started->segment.standby_cache_rows}),
          run_.spec.cache.policy, ranking_seconds);
}

}  // namespace fgnn
