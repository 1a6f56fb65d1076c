// One job from its start to its end, on a thread of its own.
//
//   Prepare   validate the dataset, start daemons, measure, plan, make the
//             run's folder, make the segment, attach everybody; a job that
//             is resumed goes on from a checkpoint of its folder, or, if its
//             scheduler alone died, with the segment and the daemons it had
//             (job_start.cc)
//   Train     per epoch: open it (up to the next checkpoint), wait for the
//             last commit, record, evaluate, checkpoint
//   Test      the best checkpoint on the test split
#ifndef FGNN_SCHEDULER_JOBS_JOB_RUN_H_
#define FGNN_SCHEDULER_JOBS_JOB_RUN_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/host/daemon_host.h"
#include "scheduler/host/executor_calls.h"
#include "scheduler/host/job_executors.h"
#include "scheduler/jobs/device_planner.h"
#include "scheduler/jobs/epoch_sum.h"
#include "scheduler/jobs/job.h"
#include "scheduler/jobs/job_dataset.h"
#include "scheduler/jobs/job_dispatcher.h"
#include "scheduler/jobs/memory_ledger.h"
#include "scheduler/jobs/plateau.h"
#include "scheduler/jobs/rate_meter.h"
#include "scheduler/jobs/resume_point.h"
#include "scheduler/jobs/run_folder.h"
#include "scheduler/jobs/run_timeline.h"
#include "scheduler/planning/cache_capacity.h"
#include "shared/base/clock.h"

namespace fgnn {

// What everything that runs a job needs, and all that runs of several jobs have
// in common. All borrowed, and thread-safe.
struct JobEnvironment {
  JobDispatcher* dispatcher = nullptr;
  DaemonHost* host = nullptr;
  ExecutorCalls* calls = nullptr;
  MemoryLedger* memory = nullptr;
};

// Not thread-safe; runs of several jobs may be under way at once.
class JobRun {
 public:
  JobRun(Job job, DecodedSpec decoded, const JobEnvironment& environment);
  JobRun(const JobRun&) = delete;
  JobRun& operator=(const JobRun&) = delete;

  // Runs the job; returns why it did not get to its end. Cancelled jobs return
  // what JobTable::Cancel() was told, those that let go of their devices
  // Aborted.
  absl::Status Run();
  // Why the job let go of its devices before its end; it goes on from its
  // folder. kNo: it did not.
  LetGo let_go() const { return let_go_; }
  // Nothing of the job is left in memory or in the daemons once this returns.
  void Release();
  // If the run has a folder by now. Behind Release().
  absl::Status WriteSummary(JobState state, const absl::Status& error) const;
  // Another job may have the folder once this returns. Before the table is told
  // that the job is over, or waits again.
  void LeaveFolder() { folder_.reset(); }

 private:
  absl::Status RunToEnd();
  // Aborted, with let_go_ set, once the job is to let go of its devices and a
  // checkpoint of a step that is the last one is written. Else OK: the job goes
  // on. Between two steps, or behind an epoch.
  absl::Status LetGoIfAsked();
  absl::Status SaveHeld(uint64_t version);
  absl::StatusOr<std::optional<uint64_t>> HoldVersion();
  absl::Status Prepare();
  // Whether the job's daemons were still there to go on with.
  absl::StatusOr<bool> TakeOver();
  // Corrects the best epoch to the one that best.safetensors is of.
  absl::Status FindSavedBest();
  absl::Status ForgetUnsavedBest();
  // The scores in an epoch's line of the metrics; none without that line.
  absl::StatusOr<RunFolder::EpochScores> ScoresOf(uint32_t epoch) const;
  bool IsBest(std::optional<double> score) const;
  // What the scheduler before may not have got to.
  absl::Status FinishStop();
  absl::StatusOr<SegmentOptions> Plan(const DatasetFacts& dataset);
  // Sees to it that there is an order to cache by, if trainers cache.
  absl::Status RankVertices();
  // With policy online, at an epoch's end: ranks once enough was counted.
  absl::Status RankByOnlineCounts();
  // At an epoch's end: the caches' capacity by the memory that it took.
  absl::Status AdaptCache();
  CacheUse CachesOf(const CachePlan& plan);
  std::string DescribeCaches(const CacheRows& rows) const;
  void MeasureMemory();
  void LogCache(double ranking_seconds) const;
  void ShowSize();
  absl::Status OpenFolder();
  RunRecord Record() const;
  absl::Status GoOnFrom(const ResumePoint& point);
  absl::Status SetState(const RunState& state);
  absl::Status OpenTimeline();
  absl::Status WaitForFirstWeights();
  absl::Status RunEpoch(uint32_t epoch);
  uint64_t NextStop(uint64_t version, uint64_t epoch_end) const;
  absl::Status WaitForVersion(uint64_t version);
  absl::Status RecordBatches(uint64_t last_seq);
  void AddToTimeline(const BatchRecord& record);
  absl::Status Validate(uint32_t epoch, EpochFacts& facts);
  absl::Status Checkpoint(uint32_t epoch, bool is_best);
  absl::Status CheckpointWithin(uint32_t epoch, uint64_t version);
  absl::Status SaveTolerantly(const std::filesystem::path& path,
                              uint32_t epochs_done, bool& saved);
  // Counts as SaveTolerantly() does.
  absl::Status WriteLinesTolerantly(const std::string& line);
  absl::Status CheckHeldLines(const absl::Status& written) const;
  absl::Status Test();
  // Whether best.safetensors has the weights of best_epoch_, by now.
  absl::StatusOr<bool> FindBestWeights();
  absl::Status KeepGoing();
  void EnterPhase(const std::string& phase);
  // EnterPhase(), and how long it takes stands in the summary.
  void EnterPreparation(const std::string& phase);
  // Has the dataset validated, reads its sizes, tells of what deserves a
  // warning.
  absl::Status OpenDataset();
  void EndPreparation();
  absl::Status OwnFolder();
  absl::StatusOr<std::string> State();
  void ShowProgress();
  void ShowTest(JobProgress& progress) const;
  std::optional<std::string> WhyStopped() const;
  std::optional<double> BestMacroF1() const;
  std::vector<std::string> Warnings() const;
  // Nothing is left to train.
  bool IsOver() const;
  bool IsDue(uint32_t every, uint32_t epoch) const;
  GradientBoard& board() { return executors_.segment().board(); }

  const Job job_;
  const DecodedSpec decoded_;
  const JobSpec& spec_;
  const JobEnvironment environment_;
  JobExecutors executors_;
  DevicePlanner planner_;
  const Stopwatch since_start_;

  std::vector<std::pair<std::string, double>> preparation_;  // Seconds.
  std::optional<Stopwatch> since_phase_;  // Of the last of them.

  DatasetFacts dataset_;
  ValidatedDataset validated_;
  std::string test_warning_;  // Why nothing was tested; empty: no reason.
  std::optional<RunFolder> folder_;
  std::optional<RunTimeline> timeline_;  // Where it was asked for.
  SegmentOptions segment_;

  uint64_t next_seq_ = 0;  // All before it are recorded.
  EpochSum sum_;           // Of the recorded batches of the open epoch.
  uint32_t epochs_done_ = 0;
  // Accuracies; of link prediction, MRRs.
  std::optional<double> valid_accuracy_;       // Of the last validated epoch.
  std::optional<double> best_valid_accuracy_;  // Its checkpoint is kept.
  std::optional<uint32_t> best_epoch_;
  std::optional<SplitScore> test_;
  Plateau plateau_;           // Of the epochs that are done.
  int checkpoints_lost_ = 0;  // In a row.
  int writes_lost_ = 0;       // Ends of epochs in a row without their lines.
  // Of the newest checkpoint that the job can go on from, if it has one.
  std::optional<uint64_t> saved_version_;
  LetGo let_go_ = LetGo::kNo;
  // Nothing would be lost but what it does just now.
  bool may_stop_anywhere_ = false;

  // Of a job that is resumed: where it goes on.
  std::filesystem::path resumed_from_;
  uint64_t first_seq_ = 0;

  Stopwatch since_training_;
  RateMeter edges_;
  uint32_t restarts_ = 0;          // Of daemons, once they are released.
  uint64_t peak_bytes_ = 0;        // Resident.
  uint64_t epoch_peak_bytes_ = 0;  // Anonymous, and the segment.
  uint64_t unplanned_bytes_ = 0;   // Anonymous, when the job was planned.
  Deadline next_memory_look_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_JOB_RUN_H_
