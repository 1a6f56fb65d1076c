// A model's weights and their gradient in device memory.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_DEVICE_PARAMETERS_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_DEVICE_PARAMETERS_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "shared/device/cuda/device_array.h"
#include "trainer_service/nn/cuda/kernels/cross_entropy.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Parameters lie at multiples of 128 bytes on the device, apart from each
// other, as products need it. A parameter is named by its offset among the P
// floats. Queued copies use pinned buffers of the object's own: the caller
// waits for them before the next call. Not thread-safe.
class DeviceParameters {
 public:
  explicit DeviceParameters(const std::vector<ParameterInfo>& parameters,
                            Precision precision);

  // Queues the copy of these weights, unless the device has this version.
  // Makes the memory first. ResourceExhausted: there is none.
  absl::Status Upload(const VersionedWeights& weights, cudaStream_t stream);
  // Lets the next Upload() copy, whatever its version.
  void Forget() { version_.reset(); }

  // The parameter at `offset`: in f32, and rounded to the model's precision.
  const float* Floats(uint64_t offset) const {
    return weights_.get() + PlaceOf(offset);
  }
  const void* Numbers(uint64_t offset) const;
  // Its gradient, in f32.
  float* Gradient(uint64_t offset) const {
    return gradient_.get() + PlaceOf(offset);
  }
  // The sum of the batch's losses, which is fetched with the gradient.
  CrossEntropySum* loss() const {
    return reinterpret_cast<CrossEntropySum*>(gradient_.get() + num_places_);
  }

  // Queues the copy of gradient and loss to the host.
  absl::Status QueueFetch(cudaStream_t stream);
  // Queues the copy of the gradient to an array [P] of device memory.
  absl::Status QueueCopy(float* to, cudaStream_t stream) const;
  // Copies what was fetched: the gradient [P]. Returns the loss.
  CrossEntropySum TakeFetched(absl::Span<float> gradient) const;

  uint64_t device_bytes() const;
  uint64_t pinned_bytes() const { return staged_.bytes() + fetched_.bytes(); }

 private:
  struct Place {
    uint64_t offset;  // Among the P floats.
    uint64_t size;
    uint64_t place;  // On the device, in floats.
  };
  absl::Status MakeArrays();
  uint64_t PlaceOf(uint64_t offset) const;
  bool rounds() const { return precision_ == Precision::kBfloat16; }

  const Precision precision_;
  std::vector<Place> places_;
  uint64_t num_places_ = 0;  // Floats on the device, with the gaps.
  std::optional<uint64_t> version_;
  // Weights in f32; then, if they are rounded, rounded ones in the same places.
  DeviceArray<float> weights_;
  DeviceArray<float> gradient_;  // The gradient, then the loss.
  PinnedArray<float> staged_;    // As weights_.
  PinnedArray<float> fetched_;   // As gradient_.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_DEVICE_PARAMETERS_H_
