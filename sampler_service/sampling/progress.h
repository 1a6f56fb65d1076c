// The heartbeat of a sampler within a batch.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_PROGRESS_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_PROGRESS_H_

#include <atomic>
#include <cstdint>

namespace fgnn {

// One thread ticks; any thread may read.
class Progress {
 public:
  // Ticks without a locked instruction, as there is one writer.
  void Tick() {
    ticks_.store(ticks_.load(std::memory_order_relaxed) + 1,
                 std::memory_order_relaxed);
  }
  uint64_t ticks() const { return ticks_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> ticks_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_PROGRESS_H_
