// Arrays of a fixed size in device memory, and in host memory that the device
// reads and writes at full speed. Freed with their objects.
#ifndef FGNN_SHARED_DEVICE_CUDA_DEVICE_ARRAY_H_
#define FGNN_SHARED_DEVICE_CUDA_DEVICE_ARRAY_H_

#include <cstdint>
#include <memory>
#include <type_traits>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/status.h"

namespace fgnn {

// The places of arrays. Allocate() returns nullptr for 0 bytes,
// ResourceExhausted if there is no such memory.

// Memory of the current device, which the host cannot read. It is freed after
// all work of the device that is under way.
struct OnDevice {
  uint64_t bytes = 0;  // Size of the memory.
  static absl::StatusOr<void*> Allocate(uint64_t bytes);
  void operator()(void* memory) const;
};
// Pinned host memory, whose addresses kernels may use too.
struct Pinned {
  uint64_t bytes = 0;
  static absl::StatusOr<void*> Allocate(uint64_t bytes);
  void operator()(void* memory) const;
};

// Returns the bytes of device memory that this process has in arrays now, on
// all its devices. Any thread.
uint64_t DeviceBytesInArrays();

// Returns count * size, ResourceExhausted if that is no number of bytes.
absl::StatusOr<uint64_t> BytesOf(uint64_t count, uint64_t size);

// T[count] in such memory.
template <typename T, typename Place>
class PlacedArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  PlacedArray() = default;  // Has no elements.

  // Its elements have no values yet.
  static absl::StatusOr<PlacedArray> Make(uint64_t count) {
    FGNN_ASSIGN_OR_RETURN(const uint64_t bytes, BytesOf(count, sizeof(T)));
    FGNN_ASSIGN_OR_RETURN(void* const memory, Place::Allocate(bytes));
    return PlacedArray(static_cast<T*>(memory), count);
  }
  T* get() const { return memory_.get(); }
  uint64_t size() const { return count_; }
  uint64_t bytes() const { return count_ * sizeof(T); }
  absl::Span<T> span() const requires std::is_same_v<Place, Pinned> {
    return absl::MakeSpan(get(), count_);
  }

 private:
  PlacedArray(T* memory, uint64_t count)
      : memory_(memory, Place{count * sizeof(T)}), count_(count) {}
  std::unique_ptr<T[], Place> memory_;
  uint64_t count_ = 0;
};
template <typename T>
using DeviceArray = PlacedArray<T, OnDevice>;
template <typename T>
using PinnedArray = PlacedArray<T, Pinned>;

}  // namespace fgnn

#endif  // FGNN_SHARED_DEVICE_CUDA_DEVICE_ARRAY_H_
