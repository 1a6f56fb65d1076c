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
  // Goes on with it and with them, as Start() and OpenSegment() do otherwise.
  absl::Status TakeOver();
  void DropKeptSegment() { segment_.reset(); }

  // Starts the daemons that are missing, without waiting for them.
  absl::Status Start();
  // Unavailable: naming those that did not register in time.
  absl::Status WaitUntilRegistered();
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

  // Makes the segment and attaches all daemons to it.
  absl::Status OpenSegment(const SegmentOptions& options);
  JobSegment& segment() { return *segment_; }  // Only once it is open.

  // Attaches daemons that came back; OK while the job may go on.
  absl::Status Tick();

  // By any trainer. Training is closed while the segment's newest weights
  // (an empty `checkpoint`) are evaluated.
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
  // destroys the segment. Idempotent.
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
  absl::StatusOr<DaemonAddress> WaitForAny(ExecutorRole role, bool attached);
  absl::StatusOr<RankedVertices> RankBy(
      const std::vector<std::filesystem::path>& counts, bool attached);
  // One file per sampler.
  absl::Status CountInputNodes(const std::vector<std::filesystem::path>& files);
  absl::Status MayGoOn();
  absl::Status Attach(const std::string& name);

  DaemonHost* const host_;
  ExecutorCalls* const calls_;
  const ExecutorsOfJob job_;
  const KeepGoing keep_going_;
  std::unique_ptr<JobSegment> segment_;
  Deadline complete_;  // When all daemons were registered last.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_JOB_EXECUTORS_H_
