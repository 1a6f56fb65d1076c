// The cache of a trainer's features on the CPU, as it is planned now.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_CPU_PLANNED_CACHE_H_
#define FGNN_TRAINER_SERVICE_BACKEND_CPU_PLANNED_CACHE_H_

#include <cstdint>
#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "shared/graph/dataset.h"
#include "shared/queue/segment.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/features/cpu/feature_cache.h"
#include "trainer_service/features/feature_store.h"

namespace fgnn {

// Cached features, and by which plan.
struct LoadedCache {
  TrainerCache plan;  // As it was asked for.
  FeatureCache cache;
  // The version of the rank order that the cache is laid out by; 0: nothing is
  // cached.
  uint32_t rank_order_version = 0;
};

// now(): any thread. The others: one call at a time.
class PlannedCache {
 public:
  // Caches nothing. Borrows the store.
  explicit PlannedCache(const FeatureStore* store);

  // What is cached now. Never null.
  std::shared_ptr<const LoadedCache> now() const;

  // See TrainerBackend::CacheAsPlanned(). Loads with `team`. The dataset has
  // the rank order. Errors of FeatureCache::Load().
  absl::Status Follow(const TrainerCache& plan, const Dataset& dataset,
                      ThreadTeam& team);
  // See TrainerBackend::GiveUpMoreThan().
  void GiveUpMoreThan(const TrainerCache& plan);

 private:
  void Set(LoadedCache cache);

  const FeatureStore* const store_;
  mutable std::mutex mutex_;
  std::shared_ptr<const LoadedCache> now_;  // Guarded by mutex_.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CPU_PLANNED_CACHE_H_
