// The scheduler's calls to a daemon, those of fgnn/v1/executor.proto. rpc/
// implements them, tests fake them.
#ifndef FGNN_SCHEDULER_EXECUTORS_EXECUTOR_CALLS_H_
#define FGNN_SCHEDULER_EXECUTORS_EXECUTOR_CALLS_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/executors/executor_messages.h"
#include "shared/measured/host_reach.h"
#include "shared/measured/profiles.h"

namespace fgnn {

// Function that a waiting caller asks about ten times a second. An error ends
// the wait and is its result.
using KeepGoing = std::function<absl::Status()>;

// How long a caller waits for an answer.
struct Patience {
  std::chrono::milliseconds timeout{10'000};
  KeepGoing keep_going;  // Asked on the caller's thread; empty: not asked.
};

// Thread-safe. `socket` is the daemon's. Each call returns the daemon's own
// error or the error of keep_going. Unavailable: the daemon went away.
// DeadlineExceeded: it did not answer in time.
class ExecutorCalls {
 public:
  virtual ~ExecutorCalls() = default;
  virtual absl::Status Open(const std::string& socket,
                            const OpenJobRequest& request,
                            const Patience& patience) = 0;
  virtual absl::Status Attach(const std::string& socket,
                              const AttachJobRequest& request,
                              const Patience& patience) = 0;
  virtual absl::Status Detach(const std::string& socket,
                              const std::string& job_id,
                              const Patience& patience) = 0;
  virtual absl::Status Stop(const std::string& socket,
                            const Patience& patience) = 0;
  // Returns the daemon's figures as text for Prometheus.
  virtual absl::StatusOr<std::string> ReadMetrics(const std::string& socket,
                                                  const Patience& patience) = 0;
  virtual absl::StatusOr<SamplingProfile> ProfileSampling(
      const std::string& socket, const ProfileSamplingRequest& request,
      const Patience& patience) = 0;
  virtual absl::StatusOr<ValidatedDataset> ValidateDataset(
      const std::string& socket, const std::string& job_id,
      const Patience& patience) = 0;
  virtual absl::Status CountInputNodes(const std::string& socket,
                                       const CountInputNodesRequest& request,
                                       const Patience& patience) = 0;
  // Has a sampler that is attached to the job write the counts that it has so
  // far to `path`.
  virtual absl::Status WriteCounts(const std::string& socket,
                                   const std::string& job_id,
                                   const std::filesystem::path& path,
                                   const Patience& patience) = 0;
  virtual absl::StatusOr<RankedVertices> RankVertices(
      const std::string& socket, const RankVerticesRequest& request,
      const Patience& patience) = 0;
  virtual absl::StatusOr<TrainingProfile> ProfileTraining(
      const std::string& socket, const ProfileTrainingRequest& request,
      const Patience& patience) = 0;
  virtual absl::StatusOr<Evaluation> Evaluate(const std::string& socket,
                                              const EvaluateRequest& request,
                                              const Patience& patience) = 0;
  virtual absl::Status SaveCheckpoint(const std::string& socket,
                                      const SaveCheckpointRequest& request,
                                      const Patience& patience) = 0;
  virtual absl::StatusOr<CheckpointProfile> DescribeCheckpoint(
      const std::string& socket, const std::filesystem::path& path,
      const Patience& patience) = 0;
  // Returns a warning for the job's user; empty: there is none.
  virtual absl::StatusOr<std::string> LoadCheckpoint(
      const std::string& socket, const std::string& job_id,
      const std::filesystem::path& path, const Patience& patience) = 0;
  // Asks an exchange that is attached to the job.
  virtual absl::StatusOr<std::vector<HostReach>> ReadReach(
      const std::string& socket, const std::string& job_id,
      const Patience& patience) = 0;
  // Has an exchange trade the results of an evaluation in scratch memory of
  // this number, until an error of keep_going ends the call.
  virtual absl::Status TradeChunks(const std::string& socket,
                                   const std::string& job_id, uint64_t scratch,
                                   const Patience& patience) = 0;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_EXECUTOR_CALLS_H_
