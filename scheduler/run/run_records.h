// What a run writes of its batches and epochs: records of the batches from the
// gradient board, added up, and the lines of its files.
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

namespace fgnn {

// Not thread-safe: for the job's thread.
class RunRecords {
 public:
  // Borrows both. The planner is told of each batch.
  RunRecords(RunContext* run, DevicePlanner* planner)
      : run_(*run), planner_(*planner) {}

  // Goes on where an earlier run was.
  void GoOnFrom(const RunState& state);
  // Opens trace.json, if the job asks for it.
  absl::Status OpenTimeline();
  void CloseTimeline();

  void BeginEpoch() { edges_.Restart(MonotonicClock::now()); }
  // Records the batches before `last_seq`, all of which are committed. Their
  // records are on the board until the next epoch is trained. What cannot be
  // written is held, as WriteEpoch() does.
  absl::Status RecordUntil(uint64_t last_seq);
  // All batches of the epoch are recorded.
  void EndTimelineOf(uint32_t epoch);
  // Writes the epoch's line of metrics.jsonl. A full disk must not cost the
  // work of hours: the line is held meanwhile, up to a limit. Behind this the
  // next epoch's sum is empty once BeginSum() is called.
  absl::Status WriteEpoch(const EpochFacts& facts);
  void BeginSum() { sum_ = EpochSum(); }

  // All batches before this one are recorded.
  uint64_t next_seq() const { return next_seq_; }
  // How many batches were recorded by this run itself.
  uint64_t num_recorded() const { return next_seq_ - first_seq_; }
  // Sum of the recorded batches of the open epoch.
  const EpochSum& sum() const { return sum_; }
  double edges_per_second() const { return edges_.PerSecond(); }

 private:
  void AddToTimeline(const BatchRecord& record);
  // Returns `written` once too much is held.
  absl::Status CheckHeldLines(const absl::Status& written) const;

  RunContext& run_;
  DevicePlanner& planner_;
  uint64_t next_seq_ = 0;
  uint64_t first_seq_ = 0;  // Batch that the run began or went on with.
  EpochSum sum_;
  RateMeter edges_;
  std::optional<RunTimeline> timeline_;  // nullopt: not asked for.
  int writes_lost_ = 0;  // Ends of epochs in a row without their lines.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_RUN_RECORDS_H_
