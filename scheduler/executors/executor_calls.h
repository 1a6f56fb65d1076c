// What the scheduler asks of a daemon: the calls of
// proto/fgnn/v1/executor.proto without a trace of gRPC. rpc/ implements them,
// tests fake them.
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
#include "shared/base/types.h"

namespace fgnn {

// Asked about ten times a second while something is waited for: an error ends
// that, and is its result.
using KeepGoing = std::function<absl::Status()>;

// How long a caller waits.
struct Patience {
  std::chrono::milliseconds timeout{10'000};
  KeepGoing keep_going;  // Asked on the caller's thread. May be empty.
};

struct AttachCall {
  std::string job_id;
  std::string spec_bytes;  // Opaque here; see store/job.h.
  OwnerIndex owner = kNoOwner;
  std::optional<uint32_t> overflow_block;
  uint64_t scheduler_generation = 0;
  uint32_t device = 0;  // Its number in the job; where they take turns, of the
                        // device.
};

// A dataset whose values a sampler has read.
struct ValidatedDataset {
  uint64_t state = 0;    // FingerprintOf() its folder at that time.
  uint64_t content = 0;  // Fingerprint of its contents; equal for copies.
  std::string warning;   // One line; empty: none.
};

// Part of the batches that are sampled to rank the vertices.
struct CountCall {
  std::string spec_bytes;
  uint32_t part = 0;  // In [0, num_parts).
  uint32_t num_parts = 1;
  std::filesystem::path path;  // Where the counts go.
};

struct RankCall {
  std::string spec_bytes;
  // Of all parts or all samplers, or none yet.
  std::vector<std::filesystem::path> counts;
};

struct RankedVertices {
  uint64_t rank_order_key = 0;
  bool needs_counts = false;  // There is no order yet: count first.
};

struct EvaluateCall {
  std::string job_id;
  std::string spec_bytes;
  std::string checkpoint;           // Empty: the newest weights.
  std::vector<std::string> splits;  // "train", "valid", "test"
  // Of JobSegment::OpenScratch(), where several trainers evaluate together; 0:
  // one alone.
  uint64_t scratch = 0;
};

struct SplitScore {
  std::string split;
  uint64_t num_vertices = 0;  // Of link prediction: edges.
  uint64_t num_correct = 0;
  double loss = 0;
  double macro_f1 = 0;  // Over classes among labels or predictions.
  std::optional<double> roc_auc = std::nullopt;  // Of two classes, or links.
  // Of link prediction alone; see RankEdges() of the trainer.
  std::optional<double> mean_rank = std::nullopt;
  std::optional<double> mrr = std::nullopt;

  // Share of correct vertices, of which there are some.
  double accuracy() const {
    return static_cast<double>(num_correct) / static_cast<double>(num_vertices);
  }
};

struct Evaluation {
  std::vector<SplitScore> scores;
  double seconds = 0;  // Summed over the trainers.

  // nullopt: the split is empty or was not asked.
  std::optional<SplitScore> ScoreOf(const std::string& split) const;
};

struct SaveCheckpointCall {
  std::string job_id;
  std::filesystem::path path;
  uint64_t version = 0;
  uint32_t epochs_done = 0;
  std::string run_state;  // Given back by DescribeCheckpoint().
};

struct CheckpointProfile {
  uint64_t version = 0;  // Committed steps.
  uint32_t epochs_done = 0;
  uint64_t seed = 0;
  std::string run_state;
};

// Thread-safe. `socket` is the daemon's. All return the daemon's error as it
// was; Unavailable: it went away; DeadlineExceeded; or what keep_going said.
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
  virtual absl::StatusOr<SamplingProfile> ProfileSampling(
      const std::string& socket, const std::string& spec_bytes,
      uint32_t num_batches, const Patience& patience) = 0;
  virtual absl::StatusOr<ValidatedDataset> ValidateDataset(
      const std::string& socket, const std::string& spec_bytes,
      const Patience& patience) = 0;
  virtual absl::Status CountInputNodes(const std::string& socket,
                                       const CountCall& call,
                                       const Patience& patience) = 0;
  // What a sampler that is attached to the job has counted so far.
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
  virtual absl::Status LoadCheckpoint(const std::string& socket,
                                      const std::string& job_id,
                                      const std::filesystem::path& path,
                                      const Patience& patience) = 0;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_EXECUTOR_CALLS_H_
