// The scheduler's calls of a trainer beside ExecutorService: TrainerService of
// proto/fgnn/v1/executor.proto, without protobuf types.
#ifndef FGNN_TRAINER_SERVICE_RPC_TRAINER_CALLS_H_
#define FGNN_TRAINER_SERVICE_RPC_TRAINER_CALLS_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/clock.h"
#include "shared/base/files/guarded_path.h"
#include "shared/config/job_spec.h"
#include "shared/measured/profiles.h"
#include "shared/measured/scores.h"
#include "shared/minibatch/hop_size.h"

namespace fgnn {

// Limits of the call that asks.
struct CallLimits {
  Deadline deadline;
  // Returns true if the caller has gone. Any thread may call it for the length
  // of the call.
  std::function<bool()> is_cancelled;

  // Returns DeadlineExceeded, Cancelled or OK.
  absl::Status Check() const;
};

struct EvaluationQuery {
  std::string job_id;
  JobSpec spec;
  std::filesystem::path checkpoint;  // Empty: the segment's newest weights.
  std::vector<std::string> splits;   // "train", "valid", "test".
  uint64_t scratch = 0;              // See the proto.
};

struct EvaluationAnswer {
  std::vector<SplitScore> splits;
  double seconds = 0;
};

struct SaveQuery {
  std::string job_id;
  std::filesystem::path path;  // Absolute path.
  uint64_t version = 0;        // Version of the weights.
  uint32_t epoch = 0;          // Number of completed epochs.
  std::string run_state;       // Opaque state of the scheduler.
  // The folder that the path has to be in. All 0: any.
  FolderId folder = {};
};

struct CheckpointFacts {
  uint64_t version = 0;
  uint32_t epoch = 0;
  uint64_t seed = 0;
  std::string run_state;
};

struct LoadQuery {
  std::string job_id;
  std::filesystem::path path;
};

struct SaveAnswer {
  uint64_t version = 0;
  uint64_t bytes = 0;
};

// Called on threads of the server, several at once. The proto documents the
// errors.
class TrainerCalls {
 public:
  virtual ~TrainerCalls() = default;
  virtual absl::StatusOr<TrainingProfile> ProfileTraining(
      const JobSpec& spec, const std::vector<HopSize>& hops) = 0;
  virtual absl::StatusOr<EvaluationAnswer> Evaluate(
      const EvaluationQuery& query, const CallLimits& limits) = 0;
  virtual absl::StatusOr<SaveAnswer> SaveCheckpoint(
      const SaveQuery& query, const CallLimits& limits) = 0;
  virtual absl::StatusOr<CheckpointFacts> DescribeCheckpoint(
      const std::filesystem::path& path) = 0;
  // Returns a warning for the job's user; empty: there is none.
  virtual absl::StatusOr<std::string> LoadCheckpoint(
      const LoadQuery& query, const CallLimits& limits) = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_RPC_TRAINER_CALLS_H_
