#include "trainer_service/nn/cuda/device_parameters.h"

#include <algorithm>
#include <cstring>

#include "shared/base/status.h"
#include "shared/device/cuda/status.h"
#include "trainer_service/compute/widen.h"

namespace fgnn {
namespace {

// 128 bytes of f32, and 64 of rounded numbers.
constexpr uint64_t kAlignedFloats = 32;
constexpr uint64_t kLossFloats = sizeof(CrossEntropySum) / sizeof(float);

}  // namespace

DeviceParameters::DeviceParameters(const std::vector<ParameterInfo>& parameters,
                                   Precision precision)
    : precision_(precision) {
  for (const ParameterInfo& parameter : parameters) {
    places_.push_back({parameter.offset, parameter.size(), num_places_});
    num_places_ += (parameter.size() + kAlignedFloats - 1) / kAlignedFloats *
                   kAlignedFloats;
  }
}

uint64_t DeviceParameters::PlaceOf(uint64_t offset) const {
  return std::lower_bound(
             places_.begin(), places_.end(), offset,
             [](const Place& place, uint64_t at) { return place.offset < at; })
      ->place;
}

const void* DeviceParameters::Numbers(uint64_t offset) const {
  if (!rounds()) return Floats(offset);
  return reinterpret_cast<const Bfloat16*>(weights_.get() + num_places_) +
         PlaceOf(offset);
}

absl::Status DeviceParameters::MakeArrays() {
  const uint64_t floats = num_places_ + (rounds() ? num_places_ / 2 : 0);
  const uint64_t fetched = num_places_ + kLossFloats;
  FGNN_ASSIGN_OR_RETURN(staged_, PinnedArray<float>::Make(floats));
  FGNN_ASSIGN_OR_RETURN(fetched_, PinnedArray<float>::Make(fetched));
  FGNN_ASSIGN_OR_RETURN(gradient_, DeviceArray<float>::Make(fetched));
  FGNN_ASSIGN_OR_RETURN(weights_, DeviceArray<float>::Make(floats));
  // The gaps are copied too.
  std::fill_n(staged_.get(), floats, 0.0F);
  return absl::OkStatus();
}

absl::Status DeviceParameters::Upload(const VersionedWeights& weights,
                                      cudaStream_t stream) {
  if (version_ == weights.version) return absl::OkStatus();
  if (weights_.size() == 0) FGNN_RETURN_IF_ERROR(MakeArrays());
  for (const Place& place : places_) {
    std::copy_n(weights.values.data() + place.offset, place.size,
                staged_.get() + place.place);
  }
  if (rounds()) {
    RoundToBfloat16s(staged_.get(), static_cast<int64_t>(num_places_),
                     reinterpret_cast<Bfloat16*>(staged_.get() + num_places_));
  }
  FGNN_RETURN_IF_ERROR(
      CudaStatus(cudaMemcpyAsync(weights_.get(), staged_.get(), staged_.bytes(),
                                 cudaMemcpyHostToDevice, stream),
                 "cannot copy weights to the device"));
  version_ = weights.version;
  return absl::OkStatus();
}

absl::Status DeviceParameters::QueueFetch(cudaStream_t stream) {
  return CudaStatus(
      cudaMemcpyAsync(fetched_.get(), gradient_.get(), fetched_.bytes(),
                      cudaMemcpyDeviceToHost, stream),
      "cannot copy a gradient from the device");
}

absl::Status DeviceParameters::QueueCopy(float* to, cudaStream_t stream) const {
  for (size_t first = 0; first < places_.size();) {
    const Place& from = places_[first];
    uint64_t size = 0;
    // Parameters without gaps between them are one copy.
    while (first < places_.size() &&
           places_[first].place == from.place + size) {
      size += places_[first++].size;
    }
    FGNN_RETURN_IF_ERROR(CudaStatus(
        cudaMemcpyAsync(to + from.offset, gradient_.get() + from.place,
                        size * sizeof(float), cudaMemcpyDeviceToDevice, stream),
        "cannot copy a gradient on the device"));
  }
  return absl::OkStatus();
}

CrossEntropySum DeviceParameters::TakeFetched(
    absl::Span<float> gradient) const {
  for (const Place& place : places_) {
    std::copy_n(fetched_.get() + place.place, place.size,
                gradient.data() + place.offset);
  }
  CrossEntropySum loss;
  std::memcpy(&loss, fetched_.get() + num_places_, sizeof(loss));
  return loss;
}

uint64_t DeviceParameters::device_bytes() const {
  return weights_.bytes() + gradient_.bytes();
}

}  // namespace fgnn
