// A step's gradients on a device: sent to the other members of a group, and
// added.
#ifndef FGNN_TRAINER_SERVICE_SYNC_CUDA_STEP_GRADIENTS_H_
#define FGNN_TRAINER_SERVICE_SYNC_CUDA_STEP_GRADIENTS_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/device/cuda/device_array.h"
#include "shared/device/cuda/stream.h"
#include "shared/queue/job_shape.h"
#include "trainer_service/sync/cuda/nccl_group.h"
#include "trainer_service/sync/step_exchange.h"

namespace fgnn {

// A step's gradients, in the order of batches, then of parts. Borrowed.
struct StepOfGroup {
  StepNumber number;
  uint32_t rank = 0;                 // Rank of this member.
  absl::Span<const uint32_t> roots;  // Ranks of those who have the gradients.
  absl::Span<const uint32_t> batch_examples;  // See StepTensors.
  uint32_t parts = 1;                         // Number of gradients of a batch.
  absl::Span<const absl::Span<const float>> host;  // Gradients on the host.
};

// Has memory for W gradients of P floats, and for a sum. One call at a time,
// with the same current device.
class StepGradients final : public GradientAdder {
 public:
  // Errors of DeviceArray and PinnedArray.
  static absl::StatusOr<StepGradients> Make(uint64_t num_parameters,
                                            uint32_t batches_per_step,
                                            bool ordered);
  StepGradients(StepGradients&&) = default;
  StepGradients& operator=(StepGradients&&) = default;

  // Returns where gradient i of a step, [P], is to be written before Exchange()
  // of that step. It is then not copied from the host.
  float* PlaceOf(uint64_t i, StepNumber step);

  // Exchanges the gradients of a step; all members do. After an error, too, the
  // device writes to no gradient any more. Errors: those of NcclGroup.
  absl::Status Exchange(const StepOfGroup& step, NcclGroup& group);

  // Adds up the step exchanged last. Ordered: to the bits that the host would
  // compute. Otherwise `scales` have to be StepScales() of that step.
  absl::StatusOr<absl::Span<const float>> Add(absl::Span<const float> scales,
                                              float factor) override;

  uint64_t device_bytes() const;

 private:
  StepGradients(uint64_t num_parameters, bool ordered, CudaStream stream)
      : num_parameters_(num_parameters),
        ordered_(ordered),
        stream_(std::move(stream)) {}
  absl::Status ShareAll(const StepOfGroup& step, NcclGroup& group);
  absl::Status SumAll(const StepOfGroup& step, NcclGroup& group);
  // Copies this member's gradients that are on the host alone.
  absl::Status Upload(const StepOfGroup& step);
  float* GradientOf(uint64_t i) const {
    return gradients_.get() + i * num_parameters_;
  }
  absl::Status SetScales(absl::Span<const float> scales, float factor);
  absl::Status Download(absl::Span<float> sum);

  uint64_t num_parameters_;  // P
  bool ordered_;
  CudaStream stream_;
  DeviceArray<float> gradients_;  // [W, P]
  // [W] The step for which PlaceOf() has returned a gradient's place.
  std::vector<std::optional<StepNumber>> placed_;
  DeviceArray<float> sum_;         // [P]
  DeviceArray<float> scales_;      // [W]
  PinnedArray<float> new_scales_;  // [W], on their way.
  PinnedArray<float> host_sums_;   // [2, P]
  uint32_t num_added_ = 0;         // Calls of Add().
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_CUDA_STEP_GRADIENTS_H_
