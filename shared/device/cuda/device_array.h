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

// Frees after all work of the device that is under way.
struct FreeDeviceMemory {
  uint64_t bytes = 0;  // Size of the memory.
  void operator()(void* memory) const;
};
struct FreePinnedMemory {
  void operator()(void* memory) const;
};

// Return nullptr for 0 bytes, ResourceExhausted if there is no such memory.
absl::StatusOr<void*> AllocateDeviceMemory(uint64_t bytes);
absl::StatusOr<void*> AllocatePinnedMemory(uint64_t bytes);

// Returns the bytes of device memory that this process has in arrays now, on
// all its devices. Any thread.
uint64_t DeviceBytesInArrays();

// Returns count * size, ResourceExhausted if that is no number of bytes.
absl::StatusOr<uint64_t> BytesOf(uint64_t count, uint64_t size);

// T[count] in memory of the current device. The host cannot read it.
template <typename T>
class DeviceArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  DeviceArray() = default;  // Has no elements.

  // Its elements have no values yet.
  static absl::StatusOr<DeviceArray> Make(uint64_t count) {
    FGNN_ASSIGN_OR_RETURN(const uint64_t bytes, BytesOf(count, sizeof(T)));
    FGNN_ASSIGN_OR_RETURN(void* const memory, AllocateDeviceMemory(bytes));
    return DeviceArray(static_cast<T*>(memory), count);
  }
  T* get() const { return memory_.get(); }
  uint64_t size() const { return count_; }
  uint64_t bytes() const { return count_ * sizeof(T); }

 private:
  DeviceArray(T* memory, uint64_t count)
      : memory_(memory, FreeDeviceMemory{count * sizeof(T)}), count_(count) {}
  std::unique_ptr<T[], FreeDeviceMemory> memory_;
  uint64_t count_ = 0;
};

// T[count] in pinned host memory. Kernels may use get() too.
template <typename T>
class PinnedArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  PinnedArray() = default;  // Has no elements.

  // Its elements have no values yet.
  static absl::StatusOr<PinnedArray> Make(uint64_t count) {
    FGNN_ASSIGN_OR_RETURN(const uint64_t bytes, BytesOf(count, sizeof(T)));
    FGNN_ASSIGN_OR_RETURN(void* const memory, AllocatePinnedMemory(bytes));
    return PinnedArray(static_cast<T*>(memory), count);
  }
  T* get() const { return memory_.get(); }
  uint64_t size() const { return count_; }
  uint64_t bytes() const { return count_ * sizeof(T); }
  absl::Span<T> span() const { return absl::MakeSpan(get(), count_); }

 private:
  PinnedArray(T* memory, uint64_t count) : memory_(memory), count_(count) {}
  std::unique_ptr<T[], FreePinnedMemory> memory_;
  uint64_t count_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_DEVICE_CUDA_DEVICE_ARRAY_H_
