// A run's folder: the files that a job leaves.
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
#include "scheduler/files/access/user_path.h"
#include "scheduler/files/checkpoint_folder.h"
#include "scheduler/files/held_lines.h"
#include "scheduler/files/run_lock.h"
#include "scheduler/files/run_summary.h"

namespace fgnn {

// Returns OK if nothing is at `path`, or a folder with at most what a run
// leaves that never began: a record (run_lock.h) and an empty folder of
// checkpoints. AlreadyExists: the folder has other files. InvalidArgument: the
// path is not absolute or inside of another run, or a file is in the way.
absl::Status CheckRunFolderIsFree(const std::filesystem::path& path);

// Returns whether the folder has at most what a run leaves that never began.
absl::StatusOr<bool> IsEmptyRunFolder(const std::filesystem::path& path);

// Returns the seconds that the run in the folder had taken before this job:
// those in its summary, or in the record of a job that left none. 0: nothing is
// known.
double SecondsBefore(const std::filesystem::path& run_dir,
                     const std::string& job_id);

// Returns the facts of the run in the folder. nullopt: its summary does not say
// that it is completed, or it has none.
std::optional<CompletedRun> ReadCompletedRun(
    const std::filesystem::path& run_dir);

// Returns whether the folder has the checkpoint after so many whole epochs.
bool HasCheckpointOf(const std::filesystem::path& run_dir,
                     uint32_t epochs_done);

// A run's folder, held by the running job; no other job of any service gets it
// meanwhile. The folder that `find` has found or allowed to make is the one
// that all calls read and write, also if its name leads elsewhere by then. Not
// thread-safe.
class RunFolder {
 public:
  // Makes the folder with its parents, if CheckRunFolderIsFree() allows it, and
  // job.yaml in it. `claim` is called once the folder exists, is empty and is
  // locked, before anything of the run is in it. FailedPrecondition: another
  // job has the folder, or the path leads elsewhere by now. Other errors: those
  // of `find`.
  static absl::StatusOr<RunFolder> Create(
      const std::filesystem::path& path, const std::string& job_yaml,
      const RunRecord& record,
      absl::FunctionRef<absl::Status()> claim = [] { return absl::OkStatus(); },
      FindFolder find = FindAsService);

  // Takes the folder of a run that goes on without a break, and changes only
  // its record. Errors: those of Create(). NotFound: there is no folder.
  static absl::StatusOr<RunFolder> Keep(const std::filesystem::path& path,
                                        const RunRecord& record,
                                        FindFolder find = FindAsService);

  // Takes the folder of an earlier run, and changes nothing of what the run
  // left; makes the folder if that run ended before it did. GoOn() has to be
  // called before anything is written. Errors: those of Create().
  static absl::StatusOr<RunFolder> Reopen(const std::filesystem::path& path,
                                          FindFolder find = FindAsService);
  // Writes job.yaml and the record of the job that goes on in the folder.
  // Removes summary.json, since the run goes on.
  absl::Status GoOn(const std::string& job_yaml, const RunRecord& record);

  // Returns whether the job writes into the folder. Between Reopen() and GoOn()
  // it does not: the folder is still that of an earlier run.
  bool is_entered() const { return is_entered_; }
  // Returns whether the folder has job.yaml, so that its run can be resumed.
  bool has_begun() const;
  // The folder's name, which may lead elsewhere by now; see held().
  const std::filesystem::path& path() const { return held().name(); }
  const HeldFolder& held() const { return lock_.folder(); }
  const CheckpointFolder& checkpoints() const { return checkpoints_; }

  // Append `lines`, which end with newlines. Unless the process is killed, a
  // reader sees either all lines of a call or none. After an error, such as a
  // full disk, the lines are held. The next call of either function, or of
  // Flush(), tries to write them again.
  absl::Status AppendMetrics(std::string_view lines);
  absl::Status AppendDigests(std::string_view lines);
  absl::Status Flush();
  size_t held_bytes() const {
    return metrics_.held_bytes() + digests_.held_bytes();
  }

  // Calls ReadMetrics() for this folder.
  absl::StatusOr<uint64_t> ReadMetrics(
      absl::FunctionRef<void(const Scores&)> add) const;
  // Returns the scores in the epoch's line of the metrics; without that line,
  // no scores.
  absl::StatusOr<Scores> ScoresOf(uint32_t epoch) const;

  struct Lengths {
    uint64_t metrics_bytes = 0;
    uint64_t digests_bytes = 0;
  };
  // Syncs the files, and returns the lengths that are on disk. Held lines are
  // not on disk.
  absl::StatusOr<Lengths> Sync() const;
  // Returns OK if the files have at least these lengths. DataLoss: a file is
  // shorter.
  absl::Status CheckHas(const Lengths& lengths) const;
  // Cuts the files to lengths that Sync() returned. DataLoss: a file is
  // shorter.
  absl::Status TruncateTo(const Lengths& lengths) const;
  // Removes leftovers, and all checkpoints but the newest `keep` and the best.
  absl::Status PruneCheckpoints(uint32_t keep) const;
  // Removes files that killed writers left. No file of the folder may be being
  // written.
  absl::Status RemoveLeftovers() const;
  absl::Status WriteSummary(const RunSummary& summary) const;

 private:
  explicit RunFolder(RunLock lock);
  // Returns the path of a file in the folder, whatever the folder's name.
  std::filesystem::path PlaceOf(const char* name) const;

  RunLock lock_;
  HeldLines metrics_;
  HeldLines digests_;
  CheckpointFolder checkpoints_;
  bool is_entered_ = false;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_RUN_FOLDER_H_
