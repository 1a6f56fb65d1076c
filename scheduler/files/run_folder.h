// A run's folder: what is left of a job.
//
//   job.yaml                          the effective spec
//   metrics.jsonl                     a line per epoch
//   batches.crc                       a line per batch, if asked for
//   trace.json                        run_timeline.h, if asked for
//   checkpoints/epoch-0003.safetensors  after three epochs
//   checkpoints/epoch-0003-step-0000000120.safetensors  within the fourth,
//                                     after 120 steps of the job
//   checkpoints/best.safetensors      of the best validated epoch
//   summary.json                      how it ended
//   run.json                          whose it is, see run_lock.h
#ifndef FGNN_SCHEDULER_FILES_RUN_FOLDER_H_
#define FGNN_SCHEDULER_FILES_RUN_FOLDER_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/figures/run_metrics.h"
#include "scheduler/files/checkpoint_folder.h"
#include "scheduler/files/held_lines.h"
#include "scheduler/files/run_lock.h"
#include "scheduler/files/run_summary.h"

namespace fgnn {

// OK if there is nothing at `path`, or a folder without anything but a record
// (run_lock.h). AlreadyExists, InvalidArgument (not absolute, or a file is in
// the way).
absl::Status CheckRunFolderIsFree(const std::filesystem::path& path);

// A run's folder in the hands of the job that runs; no other job of any service
// gets it meanwhile. Not thread-safe.
class RunFolder {
 public:
  // Makes the folder, as CheckRunFolderIsFree() allows, with its parents, and
  // job.yaml in it. `claim` is called once the folder is there, empty and the
  // caller's, and before anything of the run is in it. FailedPrecondition:
  // another job has the folder.
  static absl::StatusOr<RunFolder> Create(
      const std::filesystem::path& path, const std::string& job_yaml,
      const RunRecord& record, absl::FunctionRef<absl::Status()> claim = [] {
        return absl::OkStatus();
      });

  // The folder of a run that goes on without a break: but for its record
  // nothing is changed. FailedPrecondition: another job has the folder.
  static absl::StatusOr<RunFolder> Keep(const std::filesystem::path& path,
                                        const RunRecord& record);

  // The folder of an earlier run, with job.yaml in it or still to be made. Its
  // summary.json, if any, is removed: the run goes on. FailedPrecondition:
  // another job has the folder.
  static absl::StatusOr<RunFolder> Reopen(const std::filesystem::path& path,
                                          const std::string& job_yaml,
                                          const RunRecord& record);

  const std::filesystem::path& path() const { return path_; }
  const CheckpointFolder& checkpoints() const { return checkpoints_; }

  // `lines` end with newlines. A reader never sees a part of one call's lines
  // without the rest, short of a kill. After an error, of a full disk say, the
  // lines are held, and the next call of either function or of Flush() tries
  // to write them again.
  absl::Status AppendMetrics(std::string_view lines);
  absl::Status AppendDigests(std::string_view lines);
  absl::Status Flush();
  size_t held_bytes() const {
    return metrics_.held_bytes() + digests_.held_bytes();
  }

  // As ReadMetrics() of this folder.
  absl::StatusOr<uint64_t> ReadMetrics(
      absl::FunctionRef<void(const EpochScores&)> add) const;
  // Returns the scores in the epoch's line of the metrics; none without that
  // line.
  absl::StatusOr<EpochScores> ScoresOf(uint32_t epoch) const;

  struct Lengths {
    uint64_t metrics_bytes = 0;
    uint64_t digests_bytes = 0;
  };
  // On disk to these lengths once this returns; what is held is not.
  absl::StatusOr<Lengths> Sync() const;
  // Cuts off what was appended since Sync() said so. DataLoss: a file is
  // shorter than that.
  absl::Status TruncateTo(const Lengths& lengths) const;
  // Removes all checkpoints but the newest `keep` and the best, and leftovers.
  absl::Status PruneCheckpoints(uint32_t keep) const;
  // Removes what writers of the folder's files that were killed left behind.
  // None of them is being written.
  absl::Status RemoveLeftovers() const;
  absl::Status WriteSummary(const RunSummary& summary) const;

 private:
  RunFolder(std::filesystem::path path, RunLock lock);
  absl::Status Fill(const std::string& job_yaml, const RunRecord& record) const;

  std::filesystem::path path_;
  HeldLines metrics_;
  HeldLines digests_;
  CheckpointFolder checkpoints_;
  RunLock lock_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_RUN_FOLDER_H_
