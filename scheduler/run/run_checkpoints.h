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

// Epochs count from 0; versions count steps of the job. Training is closed
// while a checkpoint is written. Not thread-safe: for the job's thread.
class RunCheckpoints {
 public:
  // Borrows all.
  RunCheckpoints(RunContext* run, const RunRecords* records, RunScores* scores,
                 RunProgress* progress)
      : run_(*run),
        records_(*records),
        scores_(*scores),
        progress_(*progress) {}

  // Notes that the run goes on from the checkpoint of this version.
  void GoOnFrom(uint64_t version) { saved_version_ = version; }

  // Writes the checkpoint of a stop within the epoch.
  absl::Status SaveWithin(uint32_t epoch, uint64_t version);
  // Writes the checkpoint of an epoch if it is due or the epoch is the best
  // one. To be called after the epoch. ResourceExhausted: the last checkpoint
  // could not be written.
  absl::Status SaveEpoch(uint32_t epoch, bool is_best);
  // Writes the checkpoint of a held version, so that the job may be preempted.
  // Returns any error; none is tolerated here.
  absl::Status SaveHeld(uint64_t version);

  // Sets the best epoch of a taken over run to the epoch of best.safetensors.
  // Unavailable: no trainer could read the file.
  absl::Status FindSavedBest();
  // Makes sure that best.safetensors has the weights of the best epoch. Returns
  // why it cannot have them; empty: it has them. Unavailable: no trainer could
  // read it.
  absl::StatusOr<std::string> FindBestWeights();

 private:
  // Writes a checkpoint, and sets `saved` to whether it is written. Returns an
  // error if too many failed in a row, or the last one did.
  absl::Status SaveTolerantly(const std::filesystem::path& path,
                              uint32_t epochs_done, bool& saved);
  absl::Status Save(const std::filesystem::path& path, uint64_t version,
                    uint32_t epochs_done);
  // Tells clients that a checkpoint could not be written, once for each kind of
  // error until the next one is written, which is told too.
  void TellOfLoss(const std::filesystem::path& path, const absl::Status& why);
  void TellOfRecovery();
  // Returns the run state that a checkpoint keeps.
  absl::StatusOr<std::string> State();
  // Returns whether the checkpoint is of this run after so many epochs.
  absl::StatusOr<bool> IsOf(const std::filesystem::path& path, uint32_t epochs);

  RunContext& run_;
  const RunRecords& records_;
  RunScores& scores_;
  RunProgress& progress_;
  int lost_ = 0;  // Number of checkpoints that failed in a row.
  // Kind of the failure that clients were told of last; OK: none since the last
  // checkpoint that was written.
  absl::StatusCode told_ = absl::StatusCode::kOk;
  // Version of the newest checkpoint that the job can go on from; nullopt:
  // there is none.
  std::optional<uint64_t> saved_version_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_RUN_CHECKPOINTS_H_
