// The cache of a trainer's features on a CUDA device, which follows the plan.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_CUDA_PLANNED_DEVICE_CACHE_H_
#define FGNN_TRAINER_SERVICE_BACKEND_CUDA_PLANNED_DEVICE_CACHE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/threads/mutex.h"
#include "shared/device/cuda/stream.h"
#include "shared/graph/dataset.h"
#include "shared/queue/segment.h"
#include "trainer_service/backend/cuda/byte_count.h"
#include "trainer_service/backend/cuda/hottest_rows.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/features/cuda/device_cache.h"
#include "trainer_service/features/feature_store.h"

namespace fgnn {

// Cached features, and the plan by which they are cached.
struct LoadedDeviceCache {
  // Plan that Follow() has followed; no rows: it follows one now, or the cache
  // was given up.
  TrainerCache plan;
  std::optional<HomeParts> home = std::nullopt;  // nullopt: all vertices.
  DeviceCache cache;
  TablePlaces places = {};  // Where the cache has what is hot.
  // Version of the rank order by which the cache is laid out; 0: nothing is
  // cached.
  uint32_t rank_order_version = 0;
  // Number of the table: no other of this PlannedDeviceCache has it.
  uint64_t table = 0;
};

// A device has no room for two tables, so that one is freed before the next is
// loaded. A table is freed when nobody reads it.
//
// Readers, IsFollowed() and MakeRoom(): any thread. The other functions: one
// call at a time.
class PlannedDeviceCache {
 public:
  // Keeps the cache as it is until destroyed. Borrows.
  class Reader {
   public:
    explicit Reader(const PlannedDeviceCache* cache);
    ~Reader();
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    const LoadedDeviceCache& cached() const { return *cached_; }

   private:
    const PlannedDeviceCache* const cache_;
    const LoadedDeviceCache* cached_;
  };

  // Caches nothing. Borrows the store.
  PlannedDeviceCache(const FeatureStore* store,
                     std::shared_ptr<ByteCount> count);

  // See HotTableSource. Call it before any plan.
  void CacheAtHome(std::function<HomeParts()> home) { home_ = std::move(home); }
  // See TrainerBackend::CacheAsPlanned(). Loads with `team` on `stream`; the
  // rank order lies with the dataset. The device has a table of its own,
  // whatever plan.table says. Returns errors of DeviceCache::Load(). Internal:
  // another thread reads the cache for a minute.
  absl::Status Follow(const TrainerCache& plan, const Dataset& dataset,
                      const CudaStream& stream, ThreadTeam& team);
  // See TrainerBackend::IsCachedAs().
  bool IsFollowed(const TrainerCache& plan) const;
  // See TrainerBackend::GiveUpMoreThan(). Counts tasks of `team` while another
  // thread reads the cache.
  void GiveUpMoreThan(const TrainerCache& plan, ThreadTeam& team);

  uint64_t bytes() const;  // Returns bytes of device memory. Any thread.

  // Returns the number of the table. Any thread.
  uint64_t table() const;
  // Makes room for a batch that found no memory beside the table of this
  // number. Waits while Follow() loads a table. Where that table is still
  // there, frees it once nobody reads it, and lets Follow() load half of its
  // rows from now on. Returns whether the batch is worth another try: false if
  // nothing was cached, if the table was halved before, or after a minute.
  // Counts tasks of `team` meanwhile. Any thread.
  bool MakeRoom(uint64_t table, ThreadTeam& team);

 private:
  // Waits until `holds` holds, which reads fields below the mutex. Counts tasks
  // of `team` meanwhile. Returns false after a minute.
  bool WaitUntil(MutexLock& lock, absl::FunctionRef<bool()> holds,
                 ThreadTeam& team) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Put(LoadedDeviceCache cache) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits until nobody reads the cache, then replaces it. Internal: somebody
  // still does after a minute.
  absl::Status Set(LoadedDeviceCache cache, ThreadTeam& team);
  // Frees the table, and loads another one.
  absl::Status Replace(const TrainerCache& plan, const Dataset& dataset,
                       const CudaStream& stream, ThreadTeam& team);
  std::optional<HomeParts> HomeNow() const;

  const FeatureStore* const store_;
  std::function<HomeParts()> home_;
  mutable Mutex mutex_;
  mutable CondVar changed_;
  mutable int num_readers_ ABSL_GUARDED_BY(mutex_) = 0;
  LoadedDeviceCache now_ ABSL_GUARDED_BY(mutex_);
  uint64_t num_tables_ ABSL_GUARDED_BY(mutex_) = 0;
  CountedBytes bytes_ ABSL_GUARDED_BY(mutex_);
  bool is_loading_ ABSL_GUARDED_BY(mutex_) = false;  // Whether Follow() is.
  // Most rows that Follow() loads; fewer than UINT64_MAX: MakeRoom() halved.
  uint64_t most_rows_ ABSL_GUARDED_BY(mutex_) = UINT64_MAX;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CUDA_PLANNED_DEVICE_CACHE_H_
