// The rules of a job spec for devices and for the executors on them. Only
// shared/config uses this header.
#ifndef FGNN_SHARED_CONFIG_RULES_DEVICE_RULES_H_
#define FGNN_SHARED_CONFIG_RULES_DEVICE_RULES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "fgnn/v1/job.pb.h"

namespace fgnn {

// Makes names canonical, and completes a request by number. The scheduler
// checks that it has such devices. InvalidArgument: two devices share a
// resource, or there is none.
absl::Status CheckDevices(v1::JobSpec* spec);

// Replaces "auto". Call it after CheckDevices(). InvalidArgument: a field does
// not belong to the executors, or there are too many devices or samplers.
absl::Status CheckExecutors(v1::JobSpec* spec);

// Replaces "auto" executors of a job whose GPUs exchange gradients by NCCL, and
// the number of its trainers. Call it before CheckExecutors(). InvalidArgument:
// a trainer would be no GPU or share one, or executors are to switch.
absl::Status CheckNccl(v1::JobSpec* spec);

// Returns how many devices of a job may train at the same time. All fields must
// be set. If devices are asked for by number, returns the most.
uint32_t DevicesThatTrain(const v1::JobSpec& spec);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_RULES_DEVICE_RULES_H_
