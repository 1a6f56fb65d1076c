#include "shared/device/cuda/pinned_range.h"

#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/device/cuda/status.h"

namespace fgnn {

void PinnedRange::Unregister::operator()(void* begin) const {
  cudaHostUnregister(begin);
}

absl::StatusOr<PinnedRange> PinnedRange::Make(const void* begin,
                                              const void* end, Access access) {
  PinnedRange range;
  range.bytes_ = static_cast<uint64_t>(static_cast<const std::byte*>(end) -
                                       static_cast<const std::byte*>(begin));
  if (range.bytes_ == 0) return range;
  void* const memory = const_cast<void*>(begin);
  unsigned flags = cudaHostRegisterPortable | cudaHostRegisterMapped;
  if (access == Access::kRead) flags |= cudaHostRegisterReadOnly;
  FGNN_RETURN_IF_ERROR(CudaStatus(
      cudaHostRegister(memory, range.bytes_, flags),
      absl::StrCat("cannot register ", range.bytes_, " bytes of host memory")));
  range.begin_.reset(memory);
  FGNN_RETURN_IF_ERROR(
      CudaStatus(cudaHostGetDevicePointer(&range.device_pointer_, memory, 0),
                 "registered host memory has no address on the device"));
  return range;
}

}  // namespace fgnn
