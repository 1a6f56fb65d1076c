// Jobs that papers describe, by name: `preset: fgnn/gcn` in a job file.
#ifndef FGNN_SHARED_CONFIG_PRESETS_H_
#define FGNN_SHARED_CONFIG_PRESETS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "fgnn/v1/job.pb.h"

namespace fgnn {

// "fgnn/gcn", …, in the order in which people are told them.
std::vector<std::string> PresetNames();

// Sets the fields that `spec` does not name to those of its preset, and only
// those that the paper states: the others are left to their defaults. Without a
// preset nothing changes. Idempotent. InvalidArgument: an unknown preset, with
// those that there are.
absl::Status FillPreset(v1::JobSpec* spec);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_PRESETS_H_
