// Seconds that the device spends on each stage of a batch.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_STAGE_CLOCK_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_STAGE_CLOCK_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/status.h"
#include "shared/device/cuda/stream.h"
#include "shared/minibatch/task.h"

namespace fgnn {

// Events between the kernels of a stream. Thread-compatible.
class StageClock {
 public:
  // Makes a clock for at most `max_stages` stages of a batch.
  static absl::StatusOr<StageClock> Make(uint32_t max_stages) {
    StageClock clock;
    for (uint32_t i = 0; i <= max_stages; ++i) {
      FGNN_ASSIGN_OR_RETURN(CudaEvent event,
                            CudaEvent::Make(CudaEvent::Times::kYes));
      clock.events_.push_back(std::move(event));
    }
    return clock;
  }

  absl::Status Start(const CudaStream& stream) {
    stages_.clear();
    return events_[0].Record(stream);
  }
  // Ends a stage, whose seconds belong to this field.
  absl::Status End(float SampleSeconds::*stage, const CudaStream& stream) {
    stages_.push_back(stage);
    return events_[stages_.size()].Record(stream);
  }
  // Adds the stages' seconds. All of their work is done.
  absl::Status AddTo(SampleSeconds* seconds) const {
    for (size_t i = 0; i < stages_.size(); ++i) {
      FGNN_ASSIGN_OR_RETURN(const float milliseconds,
                            events_[i + 1].MillisecondsSince(events_[i]));
      seconds->*stages_[i] += milliseconds / 1000;
    }
    return absl::OkStatus();
  }

 private:
  StageClock() = default;

  std::vector<CudaEvent> events_;
  std::vector<float SampleSeconds::*> stages_;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_STAGE_CLOCK_H_
