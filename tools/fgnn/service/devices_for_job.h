// Devices of a service, or of a plan, that is made for one job.
#ifndef FGNN_TOOLS_FGNN_SERVICE_DEVICES_FOR_JOB_H_
#define FGNN_TOOLS_FGNN_SERVICE_DEVICES_FOR_JOB_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fgnn/v1/job.pb.h"
#include "shared/device/gpu_count.h"

namespace fgnn {

// Asks fgnn-sampler, which is beside this program.
absl::StatusOr<size_t> CountGpusHere();

// Returns the devices that the job names. If it asks for a number, returns this
// machine's cores in as many even parts as the most that it asks for. If there
// are fewer cores, returns one device per core. If it asks for a number of
// GPUs, returns the first of those that `count_gpus` counts. If the job says
// nothing, returns all cores as one device. InvalidArgument, with need and
// have: this machine does not have the devices. `spec` may lack its defaults.
absl::StatusOr<std::vector<Device>> DevicesForJob(const v1::JobSpec& spec,
                                                  const GpuCounter& count_gpus);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_SERVICE_DEVICES_FOR_JOB_H_
