// The scheduler's calls to a daemon, those of proto/fgnn/v1/executor.proto,
// without gRPC types. rpc/ implements them, tests fake them.
#ifndef FGNN_SCHEDULER_EXECUTORS_EXECUTOR_CALLS_H_
#define FGNN_SCHEDULER_EXECUTORS_EXECUTOR_CALLS_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/planning/job_plan.h"
#include "shared/base/files/guarded_path.h"
#include "shared/base/types.h"
#include "shared/measured/scores.h"

namespace fgnn {

// Function that a waiting caller asks about ten times a second. An error ends
// the wait and is its result.
using KeepGoing = std::function<absl::Status()>;

// How long a caller waits for an answer.
struct Patience {
  std::chrono::milliseconds timeout{10'000};
  KeepGoing keep_going;  // Asked on the caller's thread; empty: not asked.
};

struct AttachCall {
  std::string job_id;
  std::string spec_bytes;  // Serialised spec, opaque here; see store/job.h.
  OwnerIndex owner = kNoOwner;
  std::optional<uint32_t> overflow_block;
  uint64_t scheduler_generation = 0;
  // Number of the executor in the job; where devices take turns, the number of
  // its device.
  uint32_t device = 0;
};

// Result of a sampler's reading all values of a dataset.
struct ValidatedDataset {
  uint64_t state = 0;  // FingerprintOf() the folder at that time.
  // Fingerprint of the contents; equal for copies of a dataset.
  uint64_t content = 0;
  std::string warning;  // Warning in one line; empty: none.
};

// Part of the batches that are sampled to rank the vertices.
struct CountCall {
  std::string spec_bytes;
  uint32_t part = 0;  // Number of the part, in [0, num_parts).
  uint32_t num_parts = 1;
  std::filesystem::path path;  // File to write the counts to.
};

struct RankCall {
  std::string spec_bytes;
  // Files with the counts of all parts or all samplers; empty: not counted yet.
  std::vector<std::filesystem::path> counts;
};

struct RankedVertices {
  uint64_t rank_order_key = 0;
  // Whether there is no order yet, and vertices have to be counted first.
  bool needs_counts = false;
};

struct EvaluateCall {
  std::string job_id;
  std::string spec_bytes;
  std::string checkpoint;  // Path of a checkpoint; empty: the newest weights.
  std::vector<std::string> splits;  // "train", "valid", "test"
  // Number of JobSegment::OpenScratch() if several trainers evaluate together;
  // 0: one trainer evaluates alone.
  uint64_t scratch = 0;
};

struct Evaluation {
  std::vector<SplitScore> scores;
  double seconds = 0;  // Seconds, summed over the trainers.

  // Returns the scores of a split; nullopt: the split is empty or was not
  // asked.
  std::optional<Scores> ScoresOf(const std::string& split) const;
};

struct SaveCheckpointCall {
  std::string job_id;
  std::filesystem::path path;
  FolderId folder;  // The folder that the path has to be in.
  uint64_t version = 0;
  uint32_t epochs_done = 0;
  // State of the run, which DescribeCheckpoint() returns again.
  std::string run_state;
};

struct CheckpointProfile {
  uint64_t version = 0;  // Number of committed steps.
  uint32_t epochs_done = 0;
  uint64_t seed = 0;
  std::string run_state;
};

// Thread-safe. `socket` is the daemon's. Each call returns the daemon's own
// error or the error of keep_going. Unavailable: the daemon went away.
// DeadlineExceeded: it did not answer in time.
class ExecutorCalls {
 public:
  virtual ~ExecutorCalls() = default;
  virtual absl::Status Attach(const std::string& socket, const AttachCall& call,
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
      const std::string& socket, const std::string& spec_bytes,
      uint32_t num_batches, const Patience& patience) = 0;
  virtual absl::StatusOr<ValidatedDataset> ValidateDataset(
      const std::string& socket, const std::string& spec_bytes,
      const Patience& patience) = 0;
  virtual absl::Status CountInputNodes(const std::string& socket,
                                       const CountCall& call,
                                       const Patience& patience) = 0;
  // Has a sampler that is attached to the job write the counts that it has so
  // far to `path`.
  virtual absl::Status WriteCounts(const std::string& socket,
                                   const std::string& job_id,
                                   const std::filesystem::path& path,
                                   const Patience& patience) = 0;
  virtual absl::StatusOr<RankedVertices> RankVertices(
      const std::string& socket, const RankCall& call,
      const Patience& patience) = 0;
  virtual absl::StatusOr<TrainingProfile> ProfileTraining(
      const std::string& socket, const std::string& spec_bytes,
      const std::vector<HopSize>& hops, const Patience& patience) = 0;
  virtual absl::StatusOr<Evaluation> Evaluate(const std::string& socket,
                                              const EvaluateCall& call,
                                              const Patience& patience) = 0;
  virtual absl::Status SaveCheckpoint(const std::string& socket,
                                      const SaveCheckpointCall& call,
                                      const Patience& patience) = 0;
  virtual absl::StatusOr<CheckpointProfile> DescribeCheckpoint(
      const std::string& socket, const std::filesystem::path& path,
      const Patience& patience) = 0;
  // Returns a warning for the job's user; empty: there is none.
  virtual absl::StatusOr<std::string> LoadCheckpoint(
      const std::string& socket, const std::string& job_id,
      const std::filesystem::path& path, const Patience& patience) = 0;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_EXECUTOR_CALLS_H_
