// The cache of a trainer's features on the CPU, which follows the plan. Its
// rows lie in a table of the trainer's own, or in one that the job's trainers
// share.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_CPU_PLANNED_CACHE_H_
#define FGNN_TRAINER_SERVICE_BACKEND_CPU_PLANNED_CACHE_H_

#include <chrono>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/threads/mutex.h"
#include "shared/graph/dataset.h"
#include "shared/graph/rank_order.h"
#include "shared/hot_table/hot_table.h"
#include "shared/minibatch/task.h"
#include "shared/queue/segment.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/features/cpu/feature_cache.h"
#include "trainer_service/features/cpu/fill_hot_table.h"
#include "trainer_service/features/feature_store.h"
#include "trainer_service/features/window/row_window.h"

namespace fgnn {

// Cached features, and the plan by which they are cached.
struct LoadedCache {
  // Plan that Follow() has followed; no rows: it follows one now, or the cache
  // was given up.
  TrainerCache plan;
  FeatureCache cache;
  // Version of the rank order by which the cache is laid out; 0: nothing is
  // cached.
  uint32_t rank_order_version = 0;
  // Table that the rows lie in if the trainers share one, and its
  // num_reclaims() before this trainer last filled it.
  std::shared_ptr<HotTable> table = nullptr;
  uint32_t num_reclaims = 0;
  // Rows that the next batches need, in the memory of RowWindow::ShareOf() rows
  // of the plan; null: the cache has all of them. Changes meanwhile.
  std::shared_ptr<RowWindow> window = nullptr;

  // Returns the rows of a task that must come from elsewhere.
  BatchMisses MissesOf(const TaskView& task) const;
};

// now(), IsFollowed() and SharedTable(): any thread. The other functions: one
// call at a time.
class PlannedCache {
 public:
  // Caches nothing. Borrows the store. `looks_ahead`: whether a cache of the
  // trainer's own has a window. `patience`: see FillHotTable().
  explicit PlannedCache(const FeatureStore* store, bool looks_ahead = false,
                        std::chrono::milliseconds patience = kFillPatience);

  // Returns the cache as it is now. Never null. What other trainers have filled
  // of a shared table meanwhile is in it; a cache that was returned before does
  // not change.
  std::shared_ptr<const LoadedCache> now() const;

  // See TrainerBackend.
  void ShareTables(HotTableSource source) { source_ = std::move(source); }
  UniqueFd SharedTable() const;

  // See TrainerBackend::CacheAsPlanned(). Loads with `team`. The rank order
  // lies with the dataset. Returns errors of FeatureCache::Load() or of
  // FillHotTable().
  absl::Status Follow(const TrainerCache& plan, const Dataset& dataset,
                      ThreadTeam& team);
  // See TrainerBackend::IsCachedAs().
  bool IsFollowed(const TrainerCache& plan) const;
  // See TrainerBackend::GiveUpMoreThan().
  void GiveUpMoreThan(const TrainerCache& plan);

 private:
  void Set(LoadedCache cache);
  // Caches nothing, because of `why`. The plan counts as followed unless it is
  // worth another try.
  void CacheNothing(const TrainerCache& plan, const absl::Status& why);
  absl::Status FollowOwn(const TrainerCache& plan, const RankOrder& order,
                         ThreadTeam& team);
  absl::Status FollowShared(const TrainerCache& plan, const RankOrder& order,
                            ThreadTeam& team);
  absl::StatusOr<std::shared_ptr<HotTable>> OpenTable(const TrainerCache& plan);

  const FeatureStore* const store_;
  const bool looks_ahead_;
  const std::chrono::milliseconds patience_;
  HotTableSource source_;
  bool was_told_ = false;  // Whether the log has a line on another try.
  mutable Mutex mutex_;
  // Grows in now().
  mutable std::shared_ptr<const LoadedCache> now_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CPU_PLANNED_CACHE_H_
