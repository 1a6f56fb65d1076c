// The rules of a job spec that span several fields, and the values that its
// texts stand for.
#ifndef FGNN_SHARED_CONFIG_RULES_JOB_RULES_H_
#define FGNN_SHARED_CONFIG_RULES_JOB_RULES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fgnn/v1/job.pb.h"

namespace fgnn {

// Checks a spec whose every field is set and within its range. Writes devices
// by their canonical names. InvalidArgument names the fields and the way out.
absl::Status CheckRules(v1::JobSpec* spec);

// Returns limits.memory in bytes; nullopt: "auto". InvalidArgument.
absl::StatusOr<std::optional<uint64_t>> MemoryLimit(const v1::JobSpec& spec);

// Returns cache.capacity or cache.standby_capacity as a share; nullopt: "auto",
// or no number.
std::optional<double> CapacityIn(const std::string& text);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_RULES_JOB_RULES_H_
