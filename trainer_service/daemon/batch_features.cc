#include "trainer_service/daemon/batch_features.h"

#include <algorithm>
#include <utility>

#include "shared/base/clock.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// The batch that is extracted and the one before it.
constexpr uint64_t kFewest = 2;

// Returns whether nobody but the pool has the spare features.
bool IsFree(const std::shared_ptr<TaskFeatures>& spare) {
  return spare.use_count() == 1;
}

}  // namespace

std::shared_ptr<TaskFeatures> FeaturePool::Take() {
  auto found = std::find_if(spare_.begin(), spare_.end(), IsFree);
  if (found == spare_.end() && num_made_ >= std::max(most_, kFewest)) {
    before_.reset();  // Their memory is worth more than their rows.
    found = std::find_if(spare_.begin(), spare_.end(), IsFree);
  }
  if (found == spare_.end()) {
    ++num_made_;
    return backend_->NewFeatures();
  }
  std::shared_ptr<TaskFeatures> features = std::move(*found);
  spare_.erase(found);
  return features;
}

void FeaturePool::SetBefore(const std::shared_ptr<TaskFeatures>& features) {
  before_ = features->match_bytes() > 0 ? features : nullptr;
}

absl::StatusOr<bool> BatchFeatures::FollowCachePlan() {
  const TrainerCache cache = table_.cache(device_);
  if (backend_->IsCachedAs(cache)) return false;
  FGNN_RETURN_IF_ERROR(backend_->CacheAsPlanned(cache));
  return true;
}

absl::StatusOr<ExtractedBatch> BatchFeatures::Extract(ClaimedBatch claimed,
                                                      TrainerThread thread) {
  ExtractedBatch batch{std::move(claimed)};
  batch.was_ahead = thread == TrainerThread::kAhead;
  std::shared_ptr<const TaskFeatures> before;
  {
    const MutexLock lock(&mutex_);
    batch.features = pool_.Take();
    before = pool_.before();
  }
  const Stopwatch watch;
  const absl::StatusOr<ExtractedRows> rows =
      backend_->Extract(batch.task, before.get(), thread, batch.features.get());
  batch.seconds = watch.Seconds();
  const MutexLock lock(&mutex_);
  before.reset();
  FGNN_RETURN_IF_ERROR(rows.status());
  batch.rows = *rows;
  pool_.SetBefore(batch.features);
  return batch;
}

void BatchFeatures::GiveBack(std::shared_ptr<TaskFeatures> features) {
  features->Reset();
  const MutexLock lock(&mutex_);
  pool_.GiveBack(std::move(features));
}

}  // namespace fgnn
