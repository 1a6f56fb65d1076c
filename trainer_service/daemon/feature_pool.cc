#include "trainer_service/daemon/feature_pool.h"

#include <algorithm>
#include <utility>

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

}  // namespace fgnn
