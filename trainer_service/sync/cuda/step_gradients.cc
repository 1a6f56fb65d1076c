#include "trainer_service/sync/cuda/step_gradients.h"

#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/device/cuda/status.h"
#include "trainer_service/sync/cuda/scaled_sum.h"
#include "trainer_service/sync/optimizer_step.h"

namespace fgnn {

absl::StatusOr<StepGradients> StepGradients::Make(uint64_t num_parameters,
                                                  uint32_t batches_per_step,
                                                  bool ordered) {
  FGNN_ASSIGN_OR_RETURN(CudaStream stream, CudaStream::Make());
  StepGradients made(num_parameters, ordered, std::move(stream));
  FGNN_ASSIGN_OR_RETURN(
      made.gradients_,
      DeviceArray<float>::Make(uint64_t{batches_per_step} * num_parameters));
  made.placed_.resize(batches_per_step);
  FGNN_ASSIGN_OR_RETURN(made.sum_, DeviceArray<float>::Make(num_parameters));
  FGNN_ASSIGN_OR_RETURN(made.scales_,
                        DeviceArray<float>::Make(batches_per_step));
  FGNN_ASSIGN_OR_RETURN(made.new_scales_,
                        PinnedArray<float>::Make(batches_per_step));
  FGNN_ASSIGN_OR_RETURN(made.host_sums_,
                        PinnedArray<float>::Make(2 * num_parameters));
  return made;
}

uint64_t StepGradients::device_bytes() const {
  return gradients_.bytes() + sum_.bytes() + scales_.bytes();
}

float* StepGradients::PlaceOf(uint64_t i, StepNumber step) {
  placed_[i] = step;
  return GradientOf(i);
}

absl::Status StepGradients::Upload(const StepOfGroup& step) {
  for (size_t i = 0; i < step.roots.size(); ++i) {
    if (step.roots[i] != step.rank || placed_[i] == step.number) continue;
    FGNN_RETURN_IF_ERROR(
        CudaStatus(cudaMemcpyAsync(GradientOf(i), step.host[i].data(),
                                   step.host[i].size() * sizeof(float),
                                   cudaMemcpyHostToDevice, stream_.get()),
                   "cannot copy a gradient to the device"));
  }
  return absl::OkStatus();
}

absl::Status StepGradients::SetScales(absl::Span<const float> scales,
                                      float factor) {
  if (scales.size() > scales_.size()) {
    return absl::InternalError(absl::StrCat("a step of ", scales.size(),
                                            " batches, not of up to ",
                                            scales_.size()));
  }
  for (size_t i = 0; i < scales.size(); ++i) {
    new_scales_.get()[i] = scales[i] * factor;
  }
  return CudaStatus(cudaMemcpyAsync(scales_.get(), new_scales_.get(),
                                    scales.size() * sizeof(float),
                                    cudaMemcpyHostToDevice, stream_.get()),
                    "cannot copy a step's scales to the device");
}

absl::Status StepGradients::Exchange(const StepOfGroup& step,
                                     NcclGroup& group) {
  absl::Status status = Upload(step);
  if (status.ok()) {
    status = ordered_ ? ShareAll(step, group) : SumAll(step, group);
  }
  // What was aborted ends soon, but the next gradients come on other streams.
  if (!status.ok()) cudaStreamSynchronize(stream_.get());
  return status;
}

absl::Status StepGradients::ShareAll(const StepOfGroup& step,
                                     NcclGroup& group) {
  return group.Share(step.roots, gradients_.get(), num_parameters_,
                     scales_.get(), stream_);
}

absl::Status StepGradients::SumAll(const StepOfGroup& step, NcclGroup& group) {
  FGNN_RETURN_IF_ERROR(
      SetScales(StepScales(step.batch_examples, step.parts), 1));
  FGNN_RETURN_IF_ERROR(
      CudaStatus(cudaMemsetAsync(sum_.get(), 0, sum_.bytes(), stream_.get()),
                 "cannot set a sum to 0"));
  for (size_t i = 0; i < step.roots.size(); ++i) {
    if (step.roots[i] != step.rank) continue;
    FGNN_RETURN_IF_ERROR(
        CudaStatus(LaunchScaledSum({.gradients = GradientOf(i),
                                    .scales = scales_.get() + i,
                                    .num_gradients = 1,
                                    .count = num_parameters_,
                                    .sum = sum_.get(),
                                    .adds = true},
                                   stream_.get()),
                   "cannot add a gradient"));
  }
  return group.Sum(sum_.get(), num_parameters_, stream_);
}

absl::Status StepGradients::Download(absl::Span<float> sum) {
  FGNN_RETURN_IF_ERROR(CudaStatus(
      cudaMemcpyAsync(sum.data(), sum_.get(), sum.size() * sizeof(float),
                      cudaMemcpyDeviceToHost, stream_.get()),
      "cannot copy a sum from the device"));
  FGNN_ASSIGN_OR_RETURN(CudaEvent done, CudaEvent::Make());
  FGNN_RETURN_IF_ERROR(done.Record(stream_));
  return done.WaitForWork([] {});
}

absl::StatusOr<absl::Span<const float>> StepGradients::Add(
    absl::Span<const float> scales, float factor) {
  const absl::Span<float> sum = host_sums_.span().subspan(
      num_added_++ % 2 * num_parameters_, num_parameters_);
  if (ordered_) {
    FGNN_RETURN_IF_ERROR(SetScales(scales, factor));
    FGNN_RETURN_IF_ERROR(CudaStatus(
        LaunchScaledSum({.gradients = gradients_.get(),
                         .scales = scales_.get(),
                         .num_gradients = static_cast<uint32_t>(scales.size()),
                         .count = num_parameters_,
                         .sum = sum_.get(),
                         .adds = false},
                        stream_.get()),
        "cannot add gradients"));
    FGNN_RETURN_IF_ERROR(Download(sum));
    return sum;
  }
  FGNN_RETURN_IF_ERROR(Download(sum));
  if (factor != 1) {
    for (float& value : sum) value *= factor;
  }
  return sum;
}

}  // namespace fgnn
