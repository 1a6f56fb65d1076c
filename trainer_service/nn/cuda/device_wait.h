// The host's wait for work on a device that computes batches.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_DEVICE_WAIT_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_DEVICE_WAIT_H_

#include <chrono>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/device/cuda/stream.h"

namespace fgnn {

// A batch takes milliseconds; a device that works longer than this hangs.
inline constexpr std::chrono::seconds kLongestBatch{120};

// Waits for the event. Internal: the work failed, or the device hangs.
inline absl::Status WaitForBatch(const CudaEvent& event) {
  const absl::Status status = event.Wait(DeadlineIn(kLongestBatch));
  if (!absl::IsDeadlineExceeded(status)) return status;
  return absl::InternalError(absl::StrCat(
      "the device has worked on a batch for ", kLongestBatch.count(), " s"));
}

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_DEVICE_WAIT_H_
