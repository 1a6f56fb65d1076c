// The checkpoints of a run: when they are written, and which one is the best.
#ifndef FGNN_SCHEDULER_RUN_RUN_CHECKPOINTS_H_
#define FGNN_SCHEDULER_RUN_RUN_CHECKPOINTS_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/figures/run_scores.h"
#include "scheduler/run/run_context.h"
#include "scheduler/run/run_progress.h"
#include "scheduler/run/run_records.h"

namespace fgnn {

// Epochs count from 0, versions in steps of the job. Training is closed
// whenever a checkpoint is written. Not thread-safe: for the job's thread.
class RunCheckpoints {
 public:
  // Borrows all.
  RunCheckpoints(RunContext* run, const RunRecords* records, RunScores* scores,
                 RunProgress* progress)
      : run_(*run),
        records_(*records),
        scores_(*scores),
        progress_(*progress) {}

  // The run goes on from the checkpoint of this version.
  void GoOnFrom(uint64_t version) { saved_version_ = version; }

  // Writes the checkpoint of a stop within the epoch.
  absl::Status SaveWithin(uint32_t epoch, uint64_t version);
  // Behind an epoch: writes its checkpoint where that is due, and makes the
  // epoch the best one. ResourceExhausted: the last one could not be written.
  absl::Status SaveEpoch(uint32_t epoch, bool is_best);
  // Writes the checkpoint of a version that is held, so that the job may let go
  // of its devices. Any error is final: it is not tolerated as others are.
  absl::Status SaveHeld(uint64_t version);

  // Of a run that was taken over: corrects the best epoch to the one that
  // best.safetensors is of. Unavailable: no trainer could read it.
  absl::Status FindSavedBest();
  // Sees to it that best.safetensors has the weights of the best epoch. Returns
  // why it cannot have them; empty: it has. Unavailable: no trainer could read
  // it.
  absl::StatusOr<std::string> FindBestWeights();

 private:
  // Sets `saved`. An error is final: too many in a row, or the last one.
  absl::Status SaveTolerantly(const std::filesystem::path& path,
                              uint32_t epochs_done, bool& saved);
  // Returns what the scheduler has to know to go on from a checkpoint.
  absl::StatusOr<std::string> State();
  // Returns whether a checkpoint is of this many epochs of the run.
  absl::StatusOr<bool> IsOf(const std::filesystem::path& path, uint32_t epochs);

  RunContext& run_;
  const RunRecords& records_;
  RunScores& scores_;
  RunProgress& progress_;
  int lost_ = 0;  // Checkpoints that failed in a row.
  // Version of the newest checkpoint that the job can go on from; nullopt: it
  // has none.
  std::optional<uint64_t> saved_version_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_RUN_CHECKPOINTS_H_
