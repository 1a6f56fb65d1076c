// The features of a trainer's batches, whose memory is used again and again.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_FEATURE_POOL_H_
#define FGNN_TRAINER_SERVICE_DAEMON_FEATURE_POOL_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "trainer_service/backend/trainer_backend.h"

namespace fgnn {

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

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_FEATURE_POOL_H_
