// The GPU of a back end, which may be lost to this process.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_CUDA_BACKEND_GPU_H_
#define FGNN_TRAINER_SERVICE_BACKEND_CUDA_BACKEND_GPU_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/status.h"
#include "shared/device/cuda/status.h"
#include "trainer_service/backend/trainer_backend.h"

namespace fgnn {

// A GPU is lost after an error of CUDA that stays: the error is the answer to
// every later call of this process. Any thread.
class BackendGpu {
 public:
  // `on_lost`: see CudaBackendOptions.
  BackendGpu(int number, std::function<void(const absl::Status&)> on_lost)
      : number_(number), on_lost_(std::move(on_lost)) {}

  int number() const { return number_; }
  // Makes the GPU that of the calling thread.
  absl::Status Choose() const;
  // Chooses the GPU. Returns its total and free bytes.
  absl::StatusOr<DeviceMemory> Memory() const;
  // Returns its model, such as "NVIDIA H100 80GB HBM3".
  absl::StatusOr<std::string> Name() const;
  absl::StatusOr<uint32_t> NumMultiprocessors() const;

  // Returns the status as it is, unless it is Internal and the GPU is lost:
  // calls on_lost then, and says what the error means.
  absl::Status ReportIfLost(const absl::Status& status) const;
  // Returns the result of `work`, which returns a StatusOr, with this GPU. An
  // error is reported if it is lost. FailedPrecondition: the GPU has no memory
  // for this process.
  template <typename Work>
  auto Use(const Work& work) const -> decltype(work()) {
    FGNN_RETURN_IF_ERROR(ReportIfLost(AsLasting(Choose())));
    auto result = work();
    if (!result.ok()) return ReportIfLost(result.status());
    return result;
  }

 private:
  const int number_;
  const std::function<void(const absl::Status&)> on_lost_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CUDA_BACKEND_GPU_H_
