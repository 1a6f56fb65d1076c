// What a trainer computes with, on one kind of device. The work loop, the
// source of batches and the turns of devices know a device by this alone: where
// features, weights and intermediate results lie is the back end's affair.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_TRAINER_BACKEND_H_
#define FGNN_TRAINER_SERVICE_BACKEND_TRAINER_BACKEND_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/config/job_spec.h"
#include "shared/graph/dataset.h"
#include "shared/minibatch/task.h"
#include "shared/queue/segment.h"
#include "trainer_service/infer/evaluate.h"
#include "trainer_service/infer/rank_edges.h"
#include "trainer_service/infer/shared_inference.h"
#include "trainer_service/nn/model.h"
#include "trainer_service/sync/optimizer.h"
#include "trainer_service/sync/step_exchange.h"

namespace fgnn {

// The features of a task's input nodes, as the back end that made this holds
// them. Used for one task after the other, so that memory is allocated once.
class TaskFeatures {
 public:
  virtual ~TaskFeatures() = default;
  // Lets go of everything but memory that the next extraction can use.
  virtual void Reset() = 0;
};

// Weights of a job. Borrowed. One version has the same values whenever a back
// end is given it, so that a device may keep a copy of them.
struct VersionedWeights {
  uint64_t version = 0;
  absl::Span<const float> values;  // [P]
};

// A task whose gradient is wanted: all that it depends on beside weights and
// features. Borrowed.
struct TrainingTask {
  const TaskView* task = nullptr;
  // [num_seeds], of the seeds in order; none where links are predicted.
  absl::Span<const int64_t> labels;
  // What dropout is drawn from: the job's seed, and the batch's place.
  uint64_t seed = 0;
  uint64_t epoch = 0;
  uint64_t batch = 0;
};

// Weights to be scored. Borrowed.
struct ScoredWeights {
  absl::Span<const float> values;  // [P], at a 64-byte boundary.
  // Asked now and then, from any thread: an error ends the evaluation with it.
  // May be empty.
  std::function<absl::Status()> check;
  // With the other trainers that make this very evaluation; null: alone.
  SharedInference* shared = nullptr;
};

// Bytes by the memory in which they lie.
struct PlacedBytes {
  uint64_t host = 0;
  uint64_t device = 0;  // 0 where the device is cores of the host.
};

// The memory that an evaluation takes beside that of training.
struct EvaluationBytes {
  PlacedBytes own;      // Each trainer's.
  uint64_t shared = 0;  // The host's, once for all trainers.
};

// The two threads of a trainer that extract features.
enum class TrainerThread : uint8_t { kLoop, kAhead };

// P: the model's parameters. One call at a time, but for Extract() of the
// thread that works ahead, which may run beside any other call, and for what
// says "any thread".
class TrainerBackend {
 public:
  virtual ~TrainerBackend() = default;

  // Any thread.
  virtual const Dataset& dataset() const = 0;
  virtual const ModelOptions& model_options() const = 0;
  // In the order of their offsets; at least one.
  virtual const std::vector<ParameterInfo>& parameters() const = 0;
  uint64_t num_parameters() const {  // P
    return parameters().back().offset + parameters().back().size();
  }
  // The CRC32C of the user's code that the model is; 0: it is ours.
  virtual uint32_t code_crc32c() const = 0;

  // Sees to it that what is planned is cached: the features of the first
  // plan.rows vertices of the saved RankOrder. Where that was lost, as derived/
  // may be emptied at any time, the log says so and nothing is cached. Does
  // nothing if it was so planned before. ResourceExhausted: there is no memory.
  // Else the errors of reading features.
  virtual absl::Status CacheAsPlanned(const TrainerCache& plan) = 0;
  // For a trainer that does not work now: a cache of more rows than are planned
  // goes, for others grow into its memory. CacheAsPlanned() fills it again.
  virtual void GiveUpMoreThan(const TrainerCache& plan) = 0;

  // Features of no task yet. Any thread.
  virtual std::unique_ptr<TaskFeatures> NewFeatures() const = 0;
  // Takes the features of the task's input nodes into `features`, an object of
  // this back end's NewFeatures(). Returns how many nodes were cached.
  // InvalidArgument: a global id is not in the dataset. Else the errors of
  // reading features. std::bad_alloc.
  virtual absl::StatusOr<uint64_t> Extract(const TaskView& task,
                                           TrainerThread thread,
                                           TaskFeatures* features) = 0;

  // Writes the gradient [P] of the task's mean loss. `features`: as Extract()
  // left them for this task. Their numbers may be changed, so that a second
  // call with them takes as long, but gives no gradient. The same arguments
  // give the same bits. InvalidArgument: the task does not fit the model.
  // ResourceExhausted.
  virtual absl::StatusOr<BatchResult> Gradient(const VersionedWeights& weights,
                                               const TrainingTask& task,
                                               TaskFeatures* features,
                                               absl::Span<float> gradient) = 0;
  // Makes a step, as MakeStep() of sync/optimizer_step.h does.
  virtual absl::Status Step(uint64_t seed, const OptimizerOptions& options,
                            const StepTensors& step) = 0;

  // Scores of splits: see fgnn::Evaluate() and fgnn::RankEdges().
  virtual absl::StatusOr<std::vector<SplitAccuracy>> Evaluate(
      const ScoredWeights& weights,
      const std::vector<absl::Span<const int64_t>>& splits) = 0;
  virtual absl::StatusOr<std::vector<EdgeRanking>> RankEdges(
      const ScoredWeights& weights, absl::Span<const EdgeView> splits) = 0;

  // Memory that the features of a task take.
  virtual PlacedBytes BytesOfFeatures(const TaskView& task) const = 0;
  // Memory that this process has taken, and the most that a call of Gradient()
  // took beside that and gave back. Errors of asking the system.
  virtual absl::StatusOr<PlacedBytes> BytesInUse() const = 0;
  virtual EvaluationBytes BytesOfEvaluation() = 0;

  // A number that rises while a call on this thread of the trainer's, or on its
  // behalf, works. Any thread.
  virtual uint64_t progress(TrainerThread thread) const = 0;
};

// Makes the back end of a job, with num_threads >= 1 threads. The program that
// knows its device chooses it. NotFound, InvalidArgument and others, naming
// what of the dataset or the job does not fit.
using BackendFactory =
    std::function<absl::StatusOr<std::unique_ptr<TrainerBackend>>(
        const JobSpec& spec, int num_threads)>;

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_TRAINER_BACKEND_H_
