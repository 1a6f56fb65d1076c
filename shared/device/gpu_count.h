// Whether a machine has the GPUs that are named, and what is said if not.
#ifndef FGNN_SHARED_DEVICE_GPU_COUNT_H_
#define FGNN_SHARED_DEVICE_GPU_COUNT_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "shared/device/device.h"

namespace fgnn {

// Returns the number of GPUs of this machine, or why none can be used.
using GpuCounter = std::function<absl::StatusOr<size_t>()>;

// Reads what `fgnn-sampler gpus` has printed: "cuda:0 NAME, BYTES; cuda:1 …",
// or, unless it ended with 0, a line that says why none can be used.
absl::StatusOr<size_t> ParseGpuCount(int exit_code, absl::string_view output);

// Returns why GPU number `index` cannot be used, such as "this machine has 2
// GPUs, cuda:0 to cuda:1"; empty: it can. `count`: see GpuCounter.
std::string WhyGpuIsMissing(int index, const absl::StatusOr<size_t>& count);

// InvalidArgument names the first of the devices that is a GPU and is not
// there, and the reason. Other devices are not looked at: without a GPU among
// them nothing is counted.
absl::Status CheckGpusAreHere(const std::vector<Device>& devices,
                              const GpuCounter& count_gpus);

}  // namespace fgnn

#endif  // FGNN_SHARED_DEVICE_GPU_COUNT_H_
