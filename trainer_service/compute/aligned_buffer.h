// Memory for arrays that each batch makes anew.
#ifndef FGNN_TRAINER_SERVICE_COMPUTE_ALIGNED_BUFFER_H_
#define FGNN_TRAINER_SERVICE_COMPUTE_ALIGNED_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <utility>

namespace fgnn {

// Bytes at a 64-byte boundary. The buffer only grows: after a few batches
// nothing is allocated and no page is touched for the first time. Contents are
// unspecified. Movable. If there is no memory it throws std::bad_alloc, which
// ThreadTeam::Run() and the owners of batches turn into a Status.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        capacity_bytes_(std::exchange(other.capacity_bytes_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(capacity_bytes_, other.capacity_bytes_);
    return *this;
  }
  ~AlignedBuffer();

  // Returns at least `bytes`. If the buffer has to grow, its contents are lost.
  void* Reserve(size_t bytes);

  float* Floats(size_t count) {
    return static_cast<float*>(Reserve(count * sizeof(float)));
  }
  const std::byte** Pointers(size_t count) {
    return static_cast<const std::byte**>(
        Reserve(count * sizeof(const std::byte*)));
  }
  uint32_t* Words(size_t count) {
    return static_cast<uint32_t*>(Reserve(count * sizeof(uint32_t)));
  }

  size_t capacity_bytes() const { return capacity_bytes_; }

 private:
  void* data_ = nullptr;
  size_t capacity_bytes_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMPUTE_ALIGNED_BUFFER_H_
