#include "trainer_service/backend/cuda/planned_device_cache.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/graph/rank_order.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// An extraction takes milliseconds, from a disk perhaps seconds.
constexpr std::chrono::seconds kPatience{60};
constexpr std::chrono::milliseconds kPause{10};

}  // namespace

PlannedDeviceCache::Reader::Reader(const PlannedDeviceCache* cache)
    : cache_(cache) {
  const MutexLock lock(&cache_->mutex_);
  ++cache_->num_readers_;
  cached_ = &cache_->now_;
}

PlannedDeviceCache::Reader::~Reader() {
  {
    const MutexLock lock(&cache_->mutex_);
    --cache_->num_readers_;
  }
  cache_->changed_.NotifyAll();
}

PlannedDeviceCache::PlannedDeviceCache(const FeatureStore* store,
                                       std::shared_ptr<ByteCount> count)
    : store_(store), bytes_(std::move(count)) {}

bool PlannedDeviceCache::WaitUntil(MutexLock& lock,
                                   absl::FunctionRef<bool()> holds,
                                   ThreadTeam& team) {
  const Deadline patience = DeadlineIn(kPatience);
  while (!changed_.WaitUntil(&lock, DeadlineIn(kPause), holds)) {
    team.CountTask();
    if (MonotonicClock::now() >= patience) return false;
  }
  return true;
}

void PlannedDeviceCache::Put(LoadedDeviceCache cache) {
  now_ = std::move(cache);
  now_.table = ++num_tables_;
  bytes_.Set(now_.cache.bytes(), 0);
}

absl::Status PlannedDeviceCache::Set(LoadedDeviceCache cache,
                                     ThreadTeam& team) {
  MutexLock lock(&mutex_);
  const auto is_unread = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return num_readers_ == 0;
  };
  if (!WaitUntil(lock, is_unread, team)) {
    return absl::InternalError(absl::StrCat(
        "another thread has read the cache for ", kPatience.count(), " s"));
  }
  Put(std::move(cache));
  return absl::OkStatus();
}

bool PlannedDeviceCache::IsFollowed(const TrainerCache& plan) const {
  const std::optional<HomeParts> home = HomeNow();
  const MutexLock lock(&mutex_);
  // What caches nothing is at home anywhere.
  return now_.plan == plan && (plan.rows == 0 || now_.home == home);
}

std::optional<HomeParts> PlannedDeviceCache::HomeNow() const {
  return home_ == nullptr ? std::nullopt : std::optional<HomeParts>(home_());
}

uint64_t PlannedDeviceCache::bytes() const {
  const MutexLock lock(&mutex_);
  return now_.cache.bytes();
}

absl::Status PlannedDeviceCache::Follow(const TrainerCache& plan,
                                        const Dataset& dataset,
                                        const CudaStream& stream,
                                        ThreadTeam& team) {
  if (IsFollowed(plan)) return absl::OkStatus();
  {
    const MutexLock lock(&mutex_);
    is_loading_ = true;
  }
  const absl::Status status = Replace(plan, dataset, stream, team);
  {
    const MutexLock lock(&mutex_);
    is_loading_ = false;
  }
  changed_.NotifyAll();
  return status;
}

absl::Status PlannedDeviceCache::Replace(const TrainerCache& plan,
                                         const Dataset& dataset,
                                         const CudaStream& stream,
                                         ThreadTeam& team) {
  FGNN_RETURN_IF_ERROR(Set({}, team));
  uint64_t rows = plan.rows;
  {
    const MutexLock lock(&mutex_);
    rows = std::min(rows, most_rows_);
  }
  LoadedDeviceCache loaded;
  loaded.plan = plan;
  loaded.home = HomeNow();
  if (plan.rank_order_key != 0 && rows > 0) {
    const absl::StatusOr<RankOrder> order =
        RankOrder::Open(dataset, plan.rank_order_key);
    absl::StatusOr<HottestRows> hottest =
        order.ok() ? FindHottest(dataset, *order, rows, loaded.home)
                   : order.status();
    if (hottest.ok()) {
      FGNN_ASSIGN_OR_RETURN(
          loaded.cache,
          DeviceCache::Load(*store_, hottest->vertices, stream, team));
      loaded.places = std::move(hottest->places);
      loaded.rank_order_version = order->version();
      LogInfo("cached the features of {} vertices on the device, {}",
              loaded.cache.capacity(), FormatBytes(loaded.cache.bytes()));
    } else {
      LogWarning("no features are cached: {}", MessageOf(hottest.status()));
    }
  }
  return Set(std::move(loaded), team);
}

void PlannedDeviceCache::GiveUpMoreThan(const TrainerCache& plan,
                                        ThreadTeam& team) {
  {
    const MutexLock lock(&mutex_);
    if (now_.cache.capacity() <= plan.rows) return;
  }
  const absl::Status freed = Set({}, team);
  if (!freed.ok()) LogWarning("no cache is given up: {}", MessageOf(freed));
}

uint64_t PlannedDeviceCache::table() const {
  const MutexLock lock(&mutex_);
  return now_.table;
}

bool PlannedDeviceCache::MakeRoom(uint64_t table, ThreadTeam& team) {
  MutexLock lock(&mutex_);
  const auto is_settled = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !is_loading_ && (now_.table != table || num_readers_ == 0);
  };
  if (!WaitUntil(lock, is_settled, team)) return false;
  if (now_.table != table) return true;
  const uint64_t capacity = now_.cache.capacity();
  if (capacity == 0 || most_rows_ != UINT64_MAX) return false;
  LogWarning(
      "the device has no memory left: its cache of {} rows is freed, and "
      "filled again with half of them",
      capacity);
  most_rows_ = capacity / 2;
  Put({});
  return true;
}

}  // namespace fgnn
