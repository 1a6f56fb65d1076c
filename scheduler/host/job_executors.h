// The daemons of one job, as the thread that runs the job uses them: attached,
// called, and called again on another one where the first one died.
#ifndef FGNN_SCHEDULER_HOST_JOB_EXECUTORS_H_
#define FGNN_SCHEDULER_HOST_JOB_EXECUTORS_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/host/daemon_host.h"
#include "scheduler/host/executor_calls.h"
#include "scheduler/host/job_segment.h"
#include "shared/base/clock.h"

namespace fgnn {

struct ExecutorsOfJob {
  std::string job_id;
  std::string spec_bytes;
  std::string dataset;  // Its folder.
  // Fingerprint of the contents that the job began with; 0: not known yet.
  uint64_t dataset_content = 0;
  std::vector<ExecutorPlacement> placements;
  uint32_t restarts = 0;  // Of each daemon in ten minutes.
};

// Not thread-safe: for the job's thread alone. Every function that waits asks
// `keep_going` about ten times a second, ends with its error, and meanwhile
// attaches daemons that have come back. Each also ends with the host's
// Failure().
class JobExecutors {
 public:
  using KeepGoing = std::function<absl::Status()>;

  // `host` and `calls` are borrowed.
  JobExecutors(DaemonHost* host, ExecutorCalls* calls, ExecutorsOfJob job,
               KeepGoing keep_going);
  // As Release().
  ~JobExecutors();
  JobExecutors(const JobExecutors&) = delete;
  JobExecutors& operator=(const JobExecutors&) = delete;

  // The segment of this job that daemons of an earlier scheduler have kept, or
  // nullptr: the job then starts as any other. Waits until it is known which of
  // them are alive.
  absl::StatusOr<JobSegment*> FindKeptSegment();
  // Goes on with it and with them, as Start(), OpenSegment() and Tick() do
  // otherwise.
  // Instead, Release() has them let go of it.
  absl::Status TakeOver();

  // Starts the daemons that are missing, without waiting for them, but for
  // those of an earlier scheduler, as FindKeptSegment() does.
  absl::Status Start();
  // Unavailable: naming those that did not register in time.
  absl::Status WaitUntilRegistered();
  // Has a sampler read every value of the dataset. Daemons are attached to
  // these contents alone from then on. FailedPrecondition: the job began with
  // others.
  absl::StatusOr<ValidatedDataset> ValidateDataset();
  absl::StatusOr<SamplingProfile> ProfileSampling(uint32_t num_batches);
  // `hops`: as ProfileSampling() found them.
  absl::StatusOr<TrainingProfile> ProfileTraining(
      const std::vector<HopSize>& hops);
  // Makes the order that the job caches by, unless one is saved with the
  // dataset: all samplers count at once, with files in `folder`, which are
  // gone afterwards. Returns its key.
  absl::StatusOr<uint64_t> RankVertices(const std::filesystem::path& folder);

  // With policy online: the key of an order that was saved before; 0: none.
  absl::StatusOr<uint64_t> FindRankOrder();
  // With policy online: ranks by what the attached samplers have counted, with
  // files in `folder`, which are gone afterwards. Returns the order's key.
  absl::StatusOr<uint64_t> RankByOnlineCounts(
      const std::filesystem::path& folder);

  // Makes the segment; the next Tick() attaches all daemons to it.
  absl::Status OpenSegment(const SegmentOptions& options);
  JobSegment& segment() { return *segment_; }  // Only once it is open.
  uint64_t segment_bytes() const {
    return segment_ == nullptr ? 0 : segment_->total_bytes();
  }
  // Of memory that trainers share for an evaluation that is under way.
  uint64_t scratch_bytes() const {
    return segment_ == nullptr ? 0 : segment_->scratch_bytes();
  }

  // Attaches daemons that came back; OK while the job may go on.
  absl::Status Tick();

  // By all trainers that are attached, together. Training is closed while the
  // segment's newest weights (an empty `checkpoint`) are evaluated.
  absl::StatusOr<Evaluation> Evaluate(const std::string& checkpoint,
                                      const std::vector<std::string>& splits);
  // Of weights that are still the newest: `version`.
  absl::Status SaveCheckpoint(const std::filesystem::path& path,
                              uint64_t version, uint32_t epochs_done,
                              const std::string& run_state);
  // By any trainer, attached or not.
  absl::StatusOr<CheckpointProfile> DescribeCheckpoint(
      const std::filesystem::path& path);
  // As the segment's first weights.
  absl::Status LoadCheckpoint(const std::filesystem::path& path);

  // Stops the queue, detaches everybody (who does not let go is killed),
  // destroys the segment; the daemons are nobody's from then on. Idempotent.
  void Release();

 private:
  // A service refuses calls of an hour or more as calls without a deadline.
  static constexpr std::chrono::minutes kLongCall{55};
  static bool IsLost(const absl::Status& status) {
    return absl::IsUnavailable(status);
  }
  template <typename Result>
  Result CallAny(ExecutorRole role, bool attached,
                 const std::function<Result(const DaemonAddress&)>& call);
  // One or more of the role.
  absl::StatusOr<std::vector<DaemonAddress>> WaitForSome(ExecutorRole role,
                                                         bool attached);
  // After a call to `daemon`, the one behind `lost` that were lost, did not end
  // well: OK if it may be made again. `unreachable`: of whom that was so the
  // last time, though it lived on; kept between the calls.
  absl::Status AfterLoss(const DaemonAddress& daemon,
                         const absl::Status& status, int lost,
                         pid_t* unreachable);
  // Runs call(i, keep_going) for each i of `count`, all at once, each on a
  // thread; returns when all have. Meanwhile `goes_on` is asked on this one: an
  // error of it is the result, and keep_going ends the calls.
  static absl::Status CallTogether(
      size_t count,
      const std::function<void(size_t i, const KeepGoing& keep_going)>& call,
      const KeepGoing& goes_on);
  absl::StatusOr<Evaluation> EvaluateAlone(const DaemonAddress& trainer,
                                           const EvaluateCall& call);
  // Not OK: `failed` is the trainer that was the first to fail.
  absl::StatusOr<Evaluation> EvaluateTogether(
      const std::vector<DaemonAddress>& trainers, EvaluateCall call,
      size_t* failed);
  absl::StatusOr<RankedVertices> RankBy(
      const std::vector<std::filesystem::path>& counts, bool attached);
  // One file per sampler.
  absl::Status CountInputNodes(const std::vector<std::filesystem::path>& files);
  absl::Status MayGoOn();
  absl::StatusOr<bool> IsDatasetAsBefore();
  absl::Status KeepDataset(const ValidatedDataset& validated);
  absl::Status WaitForSurvivors();
  void LetGoOfSegment();
  absl::Status Attach(const std::string& name);

  DaemonHost* const host_;
  ExecutorCalls* const calls_;
  const ExecutorsOfJob job_;
  const KeepGoing keep_going_;
  // What daemons may be attached to. Its content is 0 before it is known.
  ValidatedDataset dataset_;
  bool has_daemons_ = false;
  std::unique_ptr<JobSegment> segment_;
  Deadline complete_;  // When all daemons were registered last.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_JOB_EXECUTORS_H_
