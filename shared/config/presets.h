// Jobs that papers describe, by name. A job file names one with `preset:
// fgnn/gcn`.
#ifndef FGNN_SHARED_CONFIG_PRESETS_H_
#define FGNN_SHARED_CONFIG_PRESETS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "fgnn/v1/job.pb.h"

namespace fgnn {

// Returns "fgnn/gcn", …, in the order in which users see them.
std::vector<std::string> PresetNames();

// Sets the fields that `spec` does not name to the values of its preset. Only
// fields that the paper states are set; the others keep their defaults. Without
// a preset nothing changes. Idempotent. InvalidArgument: an unknown preset,
// naming the known ones.
absl::Status FillPreset(v1::JobSpec* spec);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_PRESETS_H_
