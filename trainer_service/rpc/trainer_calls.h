// What the scheduler asks of a trainer beside ExecutorService: TrainerService
// of proto/fgnn/v1/executor.proto without a trace of protobuf.
#ifndef FGNN_TRAINER_SERVICE_RPC_TRAINER_CALLS_H_
#define FGNN_TRAINER_SERVICE_RPC_TRAINER_CALLS_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/clock.h"
#include "shared/config/job_spec.h"
#include "shared/minibatch/hop_size.h"

namespace fgnn {

// What is known of the call that asks.
struct CallLimits {
  Deadline deadline;
  // Whether the caller has gone. Any thread, for the length of the call.
  std::function<bool()> is_cancelled;

  // DeadlineExceeded, Cancelled or OK.
  absl::Status Check() const;
};

// Bytes are of anonymous memory, and resident.
struct TrainingNeeds {
  uint64_t num_parameters = 0;
  uint32_t optimizer_floats_per_parameter = 0;
  double seconds_per_batch = 0;  // Tt, without the extraction of features.
  uint64_t program_bytes = 0;    // Before the job's model was made.
  uint64_t step_bytes = 0;       // Model, threads, features of batches.
  // Beside that, of an evaluation: of each trainer, and of what they share. 0:
  // the job has none.
  uint64_t evaluation_bytes = 0;
  uint64_t evaluation_shared_bytes = 0;
  uint64_t checkpoint_bytes = 0;  // Beside that, to write or read one.
};

struct EvaluationQuery {
  std::string job_id;
  JobSpec spec;
  std::filesystem::path checkpoint;  // Empty: the segment's newest weights.
  std::vector<std::string> splits;   // "train", "valid", "test".
  uint64_t scratch = 0;              // See the proto.
};

struct EvaluationAnswer {
  struct Split {
    std::string name;
    uint64_t num_vertices = 0;  // Of link prediction: edges.
    uint64_t num_correct = 0;
    double loss = 0;
    double macro_f1 = 0;
    std::optional<double> roc_auc;
    std::optional<double> mean_rank =
        std::nullopt;  // Of link prediction alone.
    std::optional<double> mrr = std::nullopt;
  };
  std::vector<Split> splits;
  double seconds = 0;
};

struct SaveQuery {
  std::string job_id;
  std::filesystem::path path;  // Absolute.
  uint64_t version = 0;        // Of the weights.
  uint32_t epoch = 0;          // Epochs completed.
  std::string run_state;       // Opaque.
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

// Called on threads of the server, several at once. See the proto for errors.
class TrainerCalls {
 public:
  virtual ~TrainerCalls() = default;
  virtual absl::StatusOr<TrainingNeeds> ProfileTraining(
      const JobSpec& spec, const std::vector<HopSize>& hops) = 0;
  virtual absl::StatusOr<EvaluationAnswer> Evaluate(
      const EvaluationQuery& query, const CallLimits& limits) = 0;
  virtual absl::StatusOr<SaveAnswer> SaveCheckpoint(
      const SaveQuery& query, const CallLimits& limits) = 0;
  virtual absl::StatusOr<CheckpointFacts> DescribeCheckpoint(
      const std::filesystem::path& path) = 0;
  virtual absl::Status LoadCheckpoint(const LoadQuery& query,
                                      const CallLimits& limits) = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_RPC_TRAINER_CALLS_H_
