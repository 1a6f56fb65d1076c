// Writes batches as files, for a program that trains on them.
#ifndef FGNN_TOOLS_BENCH_FILES_TASK_FILES_H_
#define FGNN_TOOLS_BENCH_FILES_TASK_FILES_H_

#include <cstdint>
#include <filesystem>

#include "absl/status/status.h"
#include "sampler_service/sampling/sampler.h"

namespace fgnn {

// Samples the job's first `count` batches into folder/task-0, task-1, …; each
// file is a task in TaskWriter's layout. Errors: those of the sampler and the
// file system.
absl::Status WriteTaskFiles(const SamplerInput& input,
                            const SamplerOptions& options, uint32_t count,
                            const std::filesystem::path& folder);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_FILES_TASK_FILES_H_
