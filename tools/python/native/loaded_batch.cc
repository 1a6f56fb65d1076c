#include "tools/python/native/loaded_batch.h"

#include <utility>

namespace fgnn {

std::unique_ptr<LoadedBatch> BatchPool::Take() {
  {
    const MutexLock lock(&mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<LoadedBatch> batch = std::move(idle_.back());
      idle_.pop_back();
      return batch;
    }
  }
  return std::make_unique<LoadedBatch>(bound_bytes_);
}

void BatchPool::Close() {
  std::vector<std::unique_ptr<LoadedBatch>> freed;
  const MutexLock lock(&mutex_);
  freed.swap(idle_);
  most_idle_ = 0;
}

void BatchPool::GiveBack(std::unique_ptr<LoadedBatch> batch) {
  const MutexLock lock(&mutex_);
  if (idle_.size() < most_idle_) idle_.push_back(std::move(batch));
}

}  // namespace fgnn
