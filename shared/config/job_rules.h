// The rules of a job spec that span several fields, and what its texts mean.
#ifndef FGNN_SHARED_CONFIG_JOB_RULES_H_
#define FGNN_SHARED_CONFIG_JOB_RULES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fgnn/v1/job.pb.h"

namespace fgnn {

// Of a spec whose every field is set and within its range. Writes devices by
// their canonical names. InvalidArgument names the fields and the way out.
absl::Status CheckRules(v1::JobSpec* spec);

// limits.memory; nullopt: "auto". InvalidArgument.
absl::StatusOr<std::optional<uint64_t>> MemoryLimit(const v1::JobSpec& spec);

// cache.capacity or cache.standby_capacity, a share; nullopt: "auto", or no
// number.
std::optional<double> CapacityIn(const std::string& text);

// Devices of a job with complete fields that may train at the same time; the
// most, where they are asked for by number.
uint32_t DevicesThatTrain(const v1::JobSpec& spec);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_JOB_RULES_H_
