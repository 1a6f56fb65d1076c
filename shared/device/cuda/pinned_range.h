// Host memory that somebody else owns, registered with CUDA: kernels and copies
// reach it directly.
#ifndef FGNN_SHARED_DEVICE_CUDA_PINNED_RANGE_H_
#define FGNN_SHARED_DEVICE_CUDA_PINNED_RANGE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

namespace fgnn {

// Registered for all devices as long as the object lives. The memory has to
// stay mapped as long.
class PinnedRange {
 public:
  // kRead: for mappings that are read-only. Not every device can register them.
  enum class Access { kReadWrite, kRead };

  // Registers [begin, end). An empty range is not registered. Internal: CUDA
  // refuses, e.g. because a page of it is registered already.
  static absl::StatusOr<PinnedRange> Make(const void* begin, const void* end,
                                          Access access);

  // Returns the address of `begin` on the current device.
  void* DevicePointer() const { return device_pointer_; }
  uint64_t bytes() const { return bytes_; }

 private:
  struct Unregister {
    void operator()(void* begin) const;
  };
  PinnedRange() = default;
  std::unique_ptr<void, Unregister> begin_;
  uint64_t bytes_ = 0;
  void* device_pointer_ = nullptr;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_DEVICE_CUDA_PINNED_RANGE_H_
