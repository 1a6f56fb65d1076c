// The features of a trainer's batches: extracted with the cache that is
// planned, into memory that is used again and again.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_BATCH_FEATURES_H_
#define FGNN_TRAINER_SERVICE_DAEMON_BATCH_FEATURES_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "shared/base/threads/mutex.h"
#include "shared/queue/device_table.h"
#include "shared/queue/segment.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/daemon/checked_claims.h"

namespace fgnn {

// A claimed batch with its features.
struct ExtractedBatch : ClaimedBatch {
  // Shared with BatchFeatures, which lets the next batch copy rows of them.
  std::shared_ptr<TaskFeatures> features = nullptr;
  ExtractedRows rows = {};  // Where the features came from.
  double seconds = 0;       // Seconds of the extraction.
  bool was_ahead = false;   // Whether the thread ahead extracted it.
};

// Features are shared: the batch that was extracted last may be trained while
// the next one copies rows of it. Thread-compatible; its owner has a lock, and
// makes and drops all copies of before() under it.
class FeaturePool {
 public:
  // Borrows the back end. `ahead`: most batches that wait.
  FeaturePool(const TrainerBackend* backend, uint32_t ahead)
      : backend_(backend), most_(uint64_t{ahead} + 1) {}

  // Returns features to extract into. Where `ahead` + 1 batches, at least 2,
  // have features already and none are free, takes those of before().
  std::shared_ptr<TaskFeatures> Take();
  // Takes features back after their Reset().
  void GiveBack(std::shared_ptr<TaskFeatures> features) {
    spare_.push_back(std::move(features));
  }

  // The features of the batch that was extracted last, if the next one may copy
  // rows of them; else null.
  const std::shared_ptr<const TaskFeatures>& before() const { return before_; }
  // Sets them, after an extraction.
  void SetBefore(const std::shared_ptr<TaskFeatures>& features);

 private:
  const TrainerBackend* const backend_;
  const uint64_t most_;
  uint64_t num_made_ = 0;
  std::vector<std::shared_ptr<TaskFeatures>> spare_;
  std::shared_ptr<const TaskFeatures> before_;
};

// FollowCachePlan() and GiveUpCache(): one call at a time. The other functions:
// any thread.
class BatchFeatures {
 public:
  // Borrows the back end and the segment. `device`: index of the trainer's
  // device. `ahead`: most batches that wait.
  BatchFeatures(TrainerBackend* backend, Segment* segment, uint32_t device,
                uint32_t ahead)
      : backend_(backend),
        table_(segment, kNoOwner),
        device_(device),
        pool_(backend, ahead) {}

  // Returns whether the cache is as the segment plans for the device.
  bool IsCachedAsPlanned() const {
    return backend_->IsCachedAs(table_.cache(device_));
  }
  // Caches what is planned. Returns whether there was something to do. Errors
  // as TrainerBackend::CacheAsPlanned().
  absl::StatusOr<bool> FollowCachePlan();
  // Gives up a cache that is larger than planned.
  void GiveUpCache() { backend_->GiveUpMoreThan(table_.cache(device_)); }

  // Extracts a batch on this thread of the trainer. Errors as
  // TrainerBackend::Extract(). Throws std::bad_alloc.
  absl::StatusOr<ExtractedBatch> Extract(ClaimedBatch claimed,
                                         TrainerThread thread);
  // Takes the features of a batch back, to use their memory again.
  void GiveBack(std::shared_ptr<TaskFeatures> features);

  // See TrainerBackend.
  uint64_t progress(TrainerThread thread) const {
    return backend_->progress(thread);
  }

 private:
  TrainerBackend* const backend_;
  const DeviceTable table_;
  const uint32_t device_;
  Mutex mutex_;
  FeaturePool pool_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_BATCH_FEATURES_H_
