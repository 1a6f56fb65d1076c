#include "trainer_service/backend/cpu/planned_cache.h"

#include <utility>

#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/graph/rank_order.h"
#include "shared/telemetry/log.h"

namespace fgnn {

PlannedCache::PlannedCache(const FeatureStore* store)
    : store_(store),
      now_(std::make_shared<const LoadedCache>(
          LoadedCache{.plan = {}, .cache = FeatureCache(store)})) {}

std::shared_ptr<const LoadedCache> PlannedCache::now() const {
  const MutexLock lock(&mutex_);
  return now_;
}

void PlannedCache::Set(LoadedCache cache) {
  auto next = std::make_shared<const LoadedCache>(std::move(cache));
  const MutexLock lock(&mutex_);
  now_ = std::move(next);
}

absl::Status PlannedCache::Follow(const TrainerCache& plan,
                                  const Dataset& dataset, ThreadTeam& team) {
  if (now()->plan == plan) return absl::OkStatus();
  if (plan.rank_order_key == 0 || plan.rows == 0) {
    Set({.plan = plan, .cache = FeatureCache(store_)});
    return absl::OkStatus();
  }
  // The old cache is freed first, since there may be no room for both.
  Set({.plan = {}, .cache = FeatureCache(store_)});
  const absl::StatusOr<RankOrder> order =
      RankOrder::Open(dataset, plan.rank_order_key);
  if (!order.ok()) {
    LogWarning("no features are cached: {}", MessageOf(order.status()));
    Set({.plan = plan, .cache = FeatureCache(store_)});
    return absl::OkStatus();
  }
  FGNN_ASSIGN_OR_RETURN(
      FeatureCache loaded,
      FeatureCache::Load(store_, order->vertices().subspan(0, plan.rows),
                         team));
  LogInfo("cached the features of {} vertices, {}", loaded.capacity(),
          FormatBytes(loaded.bytes()));
  Set({.plan = plan,
       .cache = std::move(loaded),
       .rank_order_version = order->version()});
  return absl::OkStatus();
}

void PlannedCache::GiveUpMoreThan(const TrainerCache& plan) {
  if (now()->cache.capacity() <= plan.rows) return;
  Set({.plan = {}, .cache = FeatureCache(store_)});
}

}  // namespace fgnn
