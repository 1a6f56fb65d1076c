// The records of a run's batches and epochs: takes batch records from the
// gradient board, adds them up, and writes the lines of the run's files.
#ifndef FGNN_SCHEDULER_RUN_RUN_RECORDS_H_
#define FGNN_SCHEDULER_RUN_RUN_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "scheduler/figures/epoch_sum.h"
#include "scheduler/figures/rate_meter.h"
#include "scheduler/figures/run_state.h"
#include "scheduler/files/run_timeline.h"
#include "scheduler/run/device_planner.h"
#include "scheduler/run/run_context.h"
#include "shared/base/types.h"

namespace fgnn {

// Not thread-safe: for the job's thread.
class RunRecords {
 public:
  // Borrows both. Passes each batch on to the planner.
  RunRecords(RunContext* run, DevicePlanner* planner)
      : run_(*run), planner_(*planner) {}

  // Goes on from the state of an earlier run, whose files are already cut to
  // it.
  void GoOnFrom(const RunState& state);
  // Opens trace.json if the job asks for it. It is closed before the run leaves
  // its folder.
  absl::Status OpenTimeline();
  void CloseTimeline();

  void BeginEpoch() { edges_.Restart(MonotonicClock::now()); }
  // Records the batches before `last_seq`, all of which have to be committed.
  // Their records are on the board until the next epoch is trained. Lines that
  // cannot be written are held, as in WriteEpoch().
  absl::Status RecordUntil(BatchSeq last_seq);
  // Ends the epoch (from 1) in the timeline. To be called once all its batches
  // are recorded.
  void EndTimelineOf(uint32_t epoch);
  // Writes the epoch's line of metrics.jsonl. If the disk is full the line is
  // held, up to a limit, so that the work of hours is not lost. BeginSum() has
  // to follow, to empty the sum for the next epoch.
  absl::Status WriteEpoch(const EpochFacts& facts);
  void BeginSum() { sum_ = EpochSum(); }

  // Returns the first batch that is not recorded; all batches before it are.
  BatchSeq next_seq() const { return next_seq_; }
  // Returns how many batches this run itself has recorded.
  uint64_t num_recorded() const { return next_seq_ - first_seq_; }
  // Returns the sum of the recorded batches of the open epoch.
  const EpochSum& sum() const { return sum_; }
  double edges_per_second() const { return edges_.PerSecond(); }

 private:
  void AddToTimeline(const BatchRecord& record);
  void AddOfOtherHost(const BatchRecord& record);
  // Returns `written`, which is an error, once more bytes are held than
  // allowed; else OK.
  absl::Status CheckHeldLines(const absl::Status& written) const;

  RunContext& run_;
  DevicePlanner& planner_;
  BatchSeq next_seq_;
  BatchSeq first_seq_;  // First batch of this run.
  EpochSum sum_;
  RateMeter edges_;
  std::optional<RunTimeline> timeline_;  // Timeline; nullopt: not asked for.
  // Number of epochs in a row whose lines could not be written.
  int writes_lost_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_RUN_RECORDS_H_
