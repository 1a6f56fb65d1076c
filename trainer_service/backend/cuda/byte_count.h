// The memory that the parts of a back end have.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_CUDA_BYTE_COUNT_H_
#define FGNN_TRAINER_SERVICE_BACKEND_CUDA_BYTE_COUNT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace fgnn {

// Bytes of device memory and of pinned host memory. Any thread.
struct ByteCount {
  std::atomic<uint64_t> device = 0;
  std::atomic<uint64_t> pinned = 0;
};

// The share of one part, which leaves the count with it. One thread at a time.
class CountedBytes {
 public:
  // Shared, because a task's features may outlive the back end.
  explicit CountedBytes(std::shared_ptr<ByteCount> count)
      : count_(std::move(count)) {}
  ~CountedBytes() { Set(0, 0); }
  CountedBytes(const CountedBytes&) = delete;
  CountedBytes& operator=(const CountedBytes&) = delete;

  void Set(uint64_t device, uint64_t pinned) {
    count_->device += device - device_;  // A difference below 0 wraps around.
    count_->pinned += pinned - pinned_;
    device_ = device;
    pinned_ = pinned;
  }

 private:
  const std::shared_ptr<ByteCount> count_;
  uint64_t device_ = 0;
  uint64_t pinned_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CUDA_BYTE_COUNT_H_
