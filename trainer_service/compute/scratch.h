// Memory for arrays that each batch makes anew.
#ifndef FGNN_TRAINER_SERVICE_COMPUTE_SCRATCH_H_
#define FGNN_TRAINER_SERVICE_COMPUTE_SCRATCH_H_

#include <concepts>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace fgnn {

// An array of plain numbers or pointers at a 64-byte boundary. Its memory only
// grows: after a few batches nothing is allocated and no page is touched for
// the first time. Movable. If there is no memory it throws std::bad_alloc,
// which ThreadTeam::Run() and the owners of batches turn into a Status.
template <typename T>
class Scratch {
 public:
  // Makes room for `count` elements and returns it. If the array has to grow,
  // its elements are lost; new ones are unspecified.
  T* Reserve(std::integral auto count) {
    const size_t bytes = static_cast<size_t>(count) * sizeof(T);
    if (bytes > capacity_bytes_ || data_ == nullptr) Grow(bytes);
    return data_.get();
  }

  // Returns the room that the last Reserve() made.
  T* data() const { return data_.get(); }
  size_t capacity_bytes() const { return capacity_bytes_; }

 private:
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };

  // Reserves a tenth more: the next batch is a little larger or smaller than
  // this one. Rare, and so never inlined.
  [[gnu::noinline]] void Grow(size_t bytes) {
    constexpr size_t kAlignment = 64;
    const size_t wanted =
        (bytes + bytes / 10 + kAlignment) / kAlignment * kAlignment;
    data_.reset();
    capacity_bytes_ = 0;
    data_.reset(static_cast<T*>(std::aligned_alloc(kAlignment, wanted)));
    if (data_ == nullptr) throw std::bad_alloc();
    capacity_bytes_ = wanted;
  }

  std::unique_ptr<T, Free> data_;
  size_t capacity_bytes_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMPUTE_SCRATCH_H_
