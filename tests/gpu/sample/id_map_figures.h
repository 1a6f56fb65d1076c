// Fused-Map beside other id maps, on the ids of one batch.
#ifndef FGNN_TESTS_GPU_SAMPLE_ID_MAP_FIGURES_H_
#define FGNN_TESTS_GPU_SAMPLE_ID_MAP_FIGURES_H_

#include <string>

#include "absl/status/status.h"
#include "shared/minibatch/task.h"
#include "tests/gpu/report.h"

namespace fgnn {

// Maps the seeds and all neighbours of `task` in one list by each id map, and
// prints the milliseconds of each. `num_blocks`: blocks of 256 threads that
// fill the device.
absl::Status PrintIdMaps(const std::string& name, const TaskView& task,
                         uint32_t num_blocks, Report* report);

}  // namespace fgnn

#endif  // FGNN_TESTS_GPU_SAMPLE_ID_MAP_FIGURES_H_
