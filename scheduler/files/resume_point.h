// The point from which a resumed job goes on.
#ifndef FGNN_SCHEDULER_FILES_RESUME_POINT_H_
#define FGNN_SCHEDULER_FILES_RESUME_POINT_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/executors/executor_calls.h"
#include "scheduler/figures/run_state.h"
#include "scheduler/files/run_folder.h"
#include "shared/queue/segment.h"

namespace fgnn {

struct ResumePoint {
  std::filesystem::path checkpoint;
  uint64_t version = 0;  // Version of its weights.
  RunState state;
  // Folders that stand where checkpoints will be written.
  std::vector<std::filesystem::path> in_the_way = {};
};

// The run that a checkpoint has to belong to.
struct ResumedRun {
  uint64_t seed = 0;
  uint64_t batch_dependency = 1;  // The job's sampling.batch_dependency.
  uint32_t matched_window = 0;    // As in RunState.
  SeedShares seeds = {};          // As in RunState.
  std::string dataset = {};       // Folder of the dataset.
  uint64_t dataset_content = 0;   // Fingerprint of its present contents.
};

// Finds the newest sound checkpoint of `folder`, and changes nothing. A
// checkpoint that cannot be read is skipped, with a warning in the log. That is
// one that is damaged, no plain file, of a size that `segment` does not plan,
// or that no trainer may or can read. Returns nullopt if there is no
// checkpoint. `describe` reads a checkpoint. DataLoss: no checkpoint is sound.
// InvalidArgument: the checkpoint is of another job; the message names the
// difference. FailedPrecondition: the dataset had other contents.
absl::StatusOr<std::optional<ResumePoint>> FindResumePoint(
    const RunFolder& folder, const SegmentOptions& segment,
    const ResumedRun& run,
    absl::FunctionRef<
        absl::StatusOr<CheckpointProfile>(const std::filesystem::path&)>
        describe);

// Cuts the folder's files to their lengths at that point, or to nothing without
// one. Renames the folders that are in the way.
absl::Status GoBackTo(const std::optional<ResumePoint>& point,
                      const RunFolder& folder);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_RESUME_POINT_H_
