// Where a job that is resumed goes on.
#ifndef FGNN_SCHEDULER_FILES_RESUME_POINT_H_
#define FGNN_SCHEDULER_FILES_RESUME_POINT_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "scheduler/executors/executor_calls.h"
#include "scheduler/figures/run_state.h"
#include "scheduler/files/run_folder.h"
#include "shared/queue/segment.h"

namespace fgnn {

struct ResumePoint {
  std::filesystem::path checkpoint;
  uint64_t version = 0;  // Of its weights.
  RunState state;
};

// What a checkpoint has to be of.
struct ResumedRun {
  uint64_t seed = 0;
  std::string dataset = {};      // The folder.
  uint64_t dataset_content = 0;  // Fingerprint of the contents as they are now.
};

// The newest sound checkpoint of `folder`, whose files are cut to what they
// were when it was made. One that cannot be read gives way to the one before,
// with a warning in the log: it is damaged, no plain file, of a size that
// `segment` does not plan, or no trainer may or can read it. nullopt, and empty
// files: there is none. `describe` reads one. DataLoss: none of them is sound.
// InvalidArgument: it is of another job, by what the message names.
// FailedPrecondition: its dataset had other contents.
absl::StatusOr<std::optional<ResumePoint>> FindResumePoint(
    const RunFolder& folder, const SegmentOptions& segment,
    const ResumedRun& run,
    absl::FunctionRef<
        absl::StatusOr<CheckpointProfile>(const std::filesystem::path&)>
        describe);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_RESUME_POINT_H_
