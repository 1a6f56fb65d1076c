// The interface by which a trainer computes on one kind of device. The work
// loop, the source of batches and the role slices of devices know only this
// interface. The back end decides where features, weights and intermediate
// results lie.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_TRAINER_BACKEND_H_
#define FGNN_TRAINER_SERVICE_BACKEND_TRAINER_BACKEND_H_

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/types.h"
#include "shared/config/job_spec.h"
#include "shared/graph/dataset.h"
#include "shared/minibatch/task.h"
#include "shared/queue/segment.h"
#include "trainer_service/features/hosts/partitioned_store.h"
#include "trainer_service/infer/evaluate.h"
#include "trainer_service/infer/rank_edges.h"
#include "trainer_service/infer/shared_inference.h"
#include "trainer_service/nn/model.h"
#include "trainer_service/sync/optimizer.h"
#include "trainer_service/sync/step_exchange.h"

namespace fgnn {

// The features of a task's input nodes, in the form of the back end that made
// the object. The trainer uses it for one task after the other, so that memory
// is allocated once.
class TaskFeatures {
 public:
  virtual ~TaskFeatures() = default;
  // Releases everything except memory that the next extraction can use, and
  // rows that it may copy.
  virtual void Reset() = 0;
  // Returns the bytes that are taken beside the features so that the rows can
  // be copied for the next batch; 0: they cannot be.
  virtual uint64_t match_bytes() const = 0;
};

// Where the features of a task's input nodes came from. The others were loaded.
struct ExtractedRows {
  uint64_t num_cached = 0;
  // Number of rows copied from the batch before, or kept since an earlier one.
  uint64_t num_matched = 0;
  uint64_t num_remote = 0;  // Number of loaded rows that another host sent.
};

// Weights for an evaluation. Borrowed.
struct ScoredWeights {
  absl::Span<const float> values;  // [P], at a 64-byte boundary.
  // Function that the evaluation calls now and then, on any thread. Its error
  // ends the evaluation and is returned. May be empty.
  std::function<absl::Status()> check;
  // State that is shared with the other trainers of the same evaluation; null:
  // this trainer evaluates alone.
  SharedInference* shared = nullptr;
  // Whether the plan has room for hidden states in the device's memory.
  bool keeps_on_device = false;
  // See InferenceInput.
  std::atomic<uint32_t>* permille = nullptr;
};

// What gradients depend on beside weights and batch.
struct GradientOrigin {
  // CRC32C of the user's code that defines the model; 0: it is a model of FGNN.
  uint32_t code_crc32c = 0;
  // Name of the GPU's model, on which their bits depend; "": the device is
  // cores of the host.
  std::string gpu;
};

// Bytes for each memory in which they lie.
struct PlacedBytes {
  uint64_t host = 0;
  uint64_t device = 0;  // 0 if the device is cores of the host.
};

// The memory of a GPU, and the host's features that it reads.
struct DeviceMemory {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
  uint64_t pinned_bytes = 0;  // Bytes of features that are registered.
};

// The memory that an evaluation takes beside the memory of training.
struct EvaluationBytes {
  PlacedBytes own;  // Bytes of each trainer.
  // Bytes of the device for hidden states and messages, where they may lie
  // there: beside `own`. 0 if the device is cores of the host.
  uint64_t kept = 0;
  uint64_t shared = 0;  // Bytes of the host, once for all trainers.
};

// The parts of each batch whose features a trainer caches: those whose number
// mod num_homes is `home`. The part that it claims first is one of them.
struct HomeParts {
  uint64_t book = 0;       // Key of the partition book that makes the parts.
  uint32_t num_parts = 1;  // Number of parts of a batch.
  uint32_t num_homes = 1;  // In [1, num_parts].
  uint32_t home = 0;       // In [0, num_homes).

  bool operator==(const HomeParts&) const = default;
};

// Where a trainer finds the tables that all trainers of its job share; see
// shared/hot_table.
struct HotTableSource {
  OwnerIndex owner = kNoOwner;  // Index of this trainer in the job's segment.
  uint64_t job_key = 0;         // The segment's.
  // Asks the scheduler for the descriptor of the job's table of this number.
  // Unavailable or DeadlineExceeded: worth another try. Any thread.
  std::function<absl::StatusOr<UniqueFd>(uint64_t number)> open;
  // Returns the parts whose vertices a table of the trainer's own is to have,
  // since other trainers load the features of the others. They may change as
  // cache plans do. Empty: all vertices. Any thread.
  std::function<HomeParts()> home = nullptr;
};

// The two threads of a trainer that extract features.
enum class TrainerThread : uint8_t { kLoop, kAhead };

// P: the number of the model's parameters. One call at a time, except for the
// functions marked "any thread". Extract() of the thread that works ahead may
// also run beside any other call.
class TrainerBackend {
 public:
  virtual ~TrainerBackend() = default;

  // Any thread.
  virtual const Dataset& dataset() const = 0;
  virtual const ModelOptions& model_options() const = 0;
  // The parameters in the order of their offsets; at least one.
  virtual const std::vector<ParameterInfo>& parameters() const = 0;
  virtual GradientOrigin origin() const = 0;

  // Names the service's folder, where files derived from the dataset may be.
  // Called at most once, before any plan.
  virtual void FindDerivedIn(const std::filesystem::path& /*state_dir*/) {}
  // The store of the features if the dataset's folder has a part of the rows;
  // else null. Link it before any extraction; without links, a profile measures
  // with zeros.
  virtual PartitionedStore* partitioned() const { return nullptr; }
  // Says where the shared tables of later plans are, and what other tables
  // have. Called at most once, before any plan.
  virtual void ShareTables(HotTableSource source) = 0;
  // Returns a descriptor of the shared table in use; not valid: there is none.
  // Any thread.
  virtual UniqueFd SharedTable() const = 0;
  // Caches what is planned: the features of the first plan.rows vertices of the
  // saved RankOrder. The folder derived/ may be emptied at any time. If the
  // RankOrder was lost, the function writes a line to the log and caches
  // nothing. It does the same with a shared table that cannot be used; where
  // that is worth another try, IsCachedAs() stays false. Does nothing if the
  // plan is the same as before. ResourceExhausted: there is no memory.
  // Otherwise returns the errors of reading features.
  virtual absl::Status CacheAsPlanned(const TrainerCache& plan) = 0;
  // Returns whether this plan was followed last, and nothing of a shared table
  // was given back since. Any thread.
  virtual bool IsCachedAs(const TrainerCache& plan) const = 0;
  // Frees a cache that has more rows than planned or is of another table, since
  // the caches of other trainers need its memory. For a trainer that does not
  // work now. CacheAsPlanned() fills the cache again.
  virtual void GiveUpMoreThan(const TrainerCache& plan) = 0;

  // Returns an object for the features of a task, still empty. Any thread.
  virtual std::unique_ptr<TaskFeatures> NewFeatures() const = 0;
  // Takes the features of the task's input nodes into `features`, an object of
  // this back end's NewFeatures(). `before`: another such object, whose rows
  // may be copied; null: there is none. It may be in use by Gradient() or
  // Reset() meanwhile, and be `before` of two calls at once. InvalidArgument: a
  // global id is not in the dataset. Otherwise returns the errors of reading
  // features. Throws std::bad_alloc.
  virtual absl::StatusOr<ExtractedRows> Extract(const TaskView& task,
                                                const TaskFeatures* before,
                                                TrainerThread thread,
                                                TaskFeatures* features) = 0;

  // Returns a function that is to be told of the tasks that come next, in their
  // order, so that rows which they need are kept until then. Any of them may
  // never come. Empty: no rows are kept. Any thread, now and later.
  virtual std::function<void(const TaskView&)> expect() const { return {}; }

  // Writes the gradient [P] of the task's mean loss. The back end adds what the
  // task lacks: features and indptr. `features`: the result of
  // Extract() for this task. The call may change their numbers, unless they
  // have match_bytes(). So a second
  // call with them takes as long, but its gradient is not valid. The same
  // arguments give the same bits. InvalidArgument: the task does not fit the
  // model. ResourceExhausted: there is no memory.
  virtual absl::StatusOr<BatchResult> Gradient(const VersionedWeights& weights,
                                               const TrainingBatch& task,
                                               TaskFeatures* features,
                                               absl::Span<float> gradient) = 0;
  // Lets Gradient() also leave each gradient on the device where `places` says.
  // `places` is called by Gradient() alone. Empty: nowhere. Does nothing if the
  // device is cores of the host.
  virtual void LeaveGradients(DevicePlaceFinder /*places*/) {}
  // Makes a step, as MakeStep() of sync/optimizer_step.h does.
  virtual absl::Status Step(uint64_t seed, const OptimizerOptions& options,
                            const StepTensors& step) = 0;

  // Return scores of splits: see fgnn::Evaluate(), EvaluateTargets() for a
  // model that has_targets(), and fgnn::RankEdges().
  virtual absl::StatusOr<std::vector<SplitScore>> Evaluate(
      const ScoredWeights& weights,
      const std::vector<absl::Span<const int64_t>>& splits) = 0;
  virtual absl::StatusOr<std::vector<EdgeRanking>> RankEdges(
      const ScoredWeights& weights, absl::Span<const EdgeView> splits) = 0;

  // Returns the memory that the features of a task take, with match_bytes().
  virtual PlacedBytes BytesOfFeatures(const TaskView& task) const = 0;
  // Returns the memory that this process has taken, plus the most that a call
  // of Gradient() took beside that and gave back. Returns an error if the
  // system does not tell.
  virtual absl::StatusOr<PlacedBytes> BytesInUse() const = 0;
  virtual EvaluationBytes BytesOfEvaluation() = 0;
  // Returns the memory of the device as it was before this object took any, but
  // for the process's context; nullopt: the device is cores of the host.
  virtual std::optional<DeviceMemory> MemoryBefore() const {
    return std::nullopt;
  }

  // Returns a number that rises while a call on this thread of the trainer, or
  // on its behalf, works. Any thread.
  virtual uint64_t progress(TrainerThread thread) const = 0;
};

// Returns the number of the model's parameters: P.
inline uint64_t NumParameters(const TrainerBackend& backend) {
  return backend.parameters().back().offset +
         backend.parameters().back().size();
}

// A function that makes the back end of a job, with num_threads >= 1 threads.
// The program knows its device and chooses the function. Returns NotFound,
// InvalidArgument and others, which name what does not fit in the dataset or
// the job.
using BackendFactory =
    std::function<absl::StatusOr<std::unique_ptr<TrainerBackend>>(
        const JobSpec& spec, int num_threads)>;

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_TRAINER_BACKEND_H_
