// Streams and events of the current device, destroyed with their objects.
// Objects are thread-compatible.
#ifndef FGNN_SHARED_DEVICE_CUDA_STREAM_H_
#define FGNN_SHARED_DEVICE_CUDA_STREAM_H_

#include <cuda_runtime_api.h>

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/clock.h"

namespace fgnn {

// A queue of work on the device. It does not wait for the null stream.
class CudaStream {
 public:
  static absl::StatusOr<CudaStream> Make();
  cudaStream_t get() const { return stream_.get(); }

 private:
  struct Destroy {
    void operator()(cudaStream_t stream) const;
  };
  explicit CudaStream(cudaStream_t stream) : stream_(stream) {}
  std::unique_ptr<CUstream_st, Destroy> stream_;
};

// A mark in a stream's work.
class CudaEvent {
 public:
  // An event that measures costs a little more.
  enum class Times { kNo, kYes };
  static absl::StatusOr<CudaEvent> Make(Times times = Times::kNo);
  cudaEvent_t get() const { return event_.get(); }

  // Marks the work that `stream` has now.
  absl::Status Record(const CudaStream& stream);
  // Lets the later work of `stream` wait for the mark. The host does not wait.
  absl::Status HoldBack(const CudaStream& stream) const;
  // Waits until the marked work is done. DeadlineExceeded: it still runs.
  // Without a mark there is nothing to wait for.
  absl::Status Wait(Deadline deadline) const;
  // Waits for work that takes milliseconds. Calls `tick` every few milliseconds
  // and at the end, so that the thread is not taken for one that hangs.
  // Internal: the work failed, or goes on after a minute.
  absl::Status WaitForWork(absl::FunctionRef<void()> tick) const;
  // Returns the milliseconds of the device from `earlier` to this event. Both
  // were made with Times::kYes, recorded and waited for.
  absl::StatusOr<float> MillisecondsSince(const CudaEvent& earlier) const;

 private:
  struct Destroy {
    void operator()(cudaEvent_t event) const;
  };
  explicit CudaEvent(cudaEvent_t event) : event_(event) {}
  std::unique_ptr<CUevent_st, Destroy> event_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_DEVICE_CUDA_STREAM_H_
