// Writes a task as an .npz file, so that anyone can check what was sampled.
#ifndef FGNN_TOOLS_BENCH_FILES_TASK_DUMP_H_
#define FGNN_TOOLS_BENCH_FILES_TASK_DUMP_H_

#include <filesystem>

#include "absl/status/status.h"
#include "shared/minibatch/task.h"

namespace fgnn {

// Writes the task's arrays, all of u32 but the weights. They are seeds and
// input_nodes (global ids) and, for hop h, seed side first: hop<h>_indptr
// [destinations + 1], hop<h>_indices [edges] (local ids, places in input_nodes)
// and, where the task has them, hop<h>_weights [edges] (f32). Destination i of
// a hop is local id i.
absl::Status WriteTaskNpz(const TaskView& task,
                          const std::filesystem::path& path);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_FILES_TASK_DUMP_H_
