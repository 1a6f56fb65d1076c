#include "shared/device/cuda/stream.h"

#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/device/cuda/status.h"

namespace fgnn {

// An error of a destructor is an earlier one's, which was reported.
void CudaStream::Destroy::operator()(cudaStream_t stream) const {
  cudaStreamDestroy(stream);
}

absl::StatusOr<CudaStream> CudaStream::Make() {
  cudaStream_t stream = nullptr;
  FGNN_RETURN_IF_ERROR(
      CudaStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                 "cannot make a stream"));
  return CudaStream(stream);
}

void CudaEvent::Destroy::operator()(cudaEvent_t event) const {
  cudaEventDestroy(event);
}

absl::StatusOr<CudaEvent> CudaEvent::Make(Times times) {
  cudaEvent_t event = nullptr;
  const unsigned flags =
      times == Times::kYes ? cudaEventDefault : cudaEventDisableTiming;
  FGNN_RETURN_IF_ERROR(CudaStatus(cudaEventCreateWithFlags(&event, flags),
                                  "cannot make an event"));
  return CudaEvent(event);
}

absl::Status CudaEvent::Record(const CudaStream& stream) {
  return CudaStatus(cudaEventRecord(get(), stream.get()),
                    "cannot record an event");
}

absl::Status CudaEvent::HoldBack(const CudaStream& stream) const {
  return CudaStatus(cudaStreamWaitEvent(stream.get(), get(), 0),
                    "cannot let a stream wait for an event");
}

// CUDA has no wait with a deadline, so this asks: at first again and again, as
// most waits are short, then less often, to leave the core to others.
absl::Status CudaEvent::Wait(Deadline deadline) const {
  constexpr int kAsksWithoutPause = 1000;
  constexpr std::chrono::microseconds kPause{20};
  for (int asks = 0;; ++asks) {
    const cudaError_t error = cudaEventQuery(get());
    if (error != cudaErrorNotReady) {
      return CudaStatus(error, "work on the device failed");
    }
    if (MonotonicClock::now() >= deadline) {
      return absl::DeadlineExceededError(
          "work on the device goes on after the deadline");
    }
    if (asks >= kAsksWithoutPause) std::this_thread::sleep_for(kPause);
  }
}

absl::Status CudaEvent::WaitForWork(absl::FunctionRef<void()> tick) const {
  constexpr std::chrono::milliseconds kLook{5};
  constexpr std::chrono::seconds kPatience{60};
  const Deadline patience = DeadlineIn(kPatience);
  while (true) {
    const absl::Status status = Wait(DeadlineIn(kLook));
    tick();
    if (!absl::IsDeadlineExceeded(status)) return status;
    if (MonotonicClock::now() >= patience) {
      return absl::InternalError(absl::StrCat("the device has worked for ",
                                              kPatience.count(),
                                              " s on what takes milliseconds"));
    }
  }
}

absl::StatusOr<float> CudaEvent::MillisecondsSince(
    const CudaEvent& earlier) const {
  float milliseconds = 0;
  FGNN_RETURN_IF_ERROR(
      CudaStatus(cudaEventElapsedTime(&milliseconds, earlier.get(), get()),
                 "cannot read the time between two events"));
  return milliseconds;
}

}  // namespace fgnn
