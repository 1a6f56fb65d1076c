// The cache of a trainer's features on the CPU, which follows the plan.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_CPU_PLANNED_CACHE_H_
#define FGNN_TRAINER_SERVICE_BACKEND_CPU_PLANNED_CACHE_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "shared/base/threads/mutex.h"
#include "shared/graph/dataset.h"
#include "shared/queue/segment.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/features/cpu/feature_cache.h"
#include "trainer_service/features/feature_store.h"

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
};

// now(): any thread. The other functions: one call at a time.
class PlannedCache {
 public:
  // Caches nothing. Borrows the store.
  explicit PlannedCache(const FeatureStore* store);

  // Returns the cache as it is now. Never null.
  std::shared_ptr<const LoadedCache> now() const;

  // See TrainerBackend::CacheAsPlanned(). Loads with `team`. The rank order
  // lies with the dataset. Returns errors of FeatureCache::Load().
  absl::Status Follow(const TrainerCache& plan, const Dataset& dataset,
                      ThreadTeam& team);
  // See TrainerBackend::GiveUpMoreThan().
  void GiveUpMoreThan(const TrainerCache& plan);

 private:
  void Set(LoadedCache cache);

  const FeatureStore* const store_;
  mutable Mutex mutex_;
  std::shared_ptr<const LoadedCache> now_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CPU_PLANNED_CACHE_H_
