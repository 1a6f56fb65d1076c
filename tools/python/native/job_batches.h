// Samples a job's batches and reads their features and labels, for a user's
// own training loop.
#ifndef FGNN_TOOLS_PYTHON_NATIVE_JOB_BATCHES_H_
#define FGNN_TOOLS_PYTHON_NATIVE_JOB_BATCHES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/job/job_sampling.h"
#include "sampler_service/order/matched_order.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/config/job_spec.h"
#include "tools/python/native/loaded_batch.h"
#include "trainer_service/features/feature_store.h"

namespace fgnn {

struct JobBatchesOptions {
  JobSpec spec;
  // Seeds: the vertices of a split ("train", "valid" or "test"), or the
  // vertices of a list of the user's.
  std::string split = "train";
  std::vector<int64_t> seeds = {};
  bool shuffle = true;         // As in SamplerOptions.
  bool reads_features = true;  // Whether batches get features.
  // Whether batches get the edges of the last hop as pairs of local ids.
  bool lists_edges = true;
  uint32_t num_threads = 1;  // Threads that sample.
  // Folder for what was found out about datasets; empty: none.
  std::string state_dir = {};
};

// What one thread samples with.
struct ThreadSampler {
  std::unique_ptr<Sampler> sampler;
  bool tells_places = false;  // Sampler::KeepEdgePlaces()
};

// Immutable once open. Its batches are those of the service: the same job gives
// the same digests.
class JobBatches {
 public:
  // Validates the dataset once per state of its folder. InvalidArgument, naming
  // the field and the way out: the job needs the service, or a seed is twice in
  // the list or beyond the dataset's vertices. Other errors: those of
  // ValidateOnce(), OpenJobSampling() and OpenFeatureStore().
  static absl::StatusOr<std::unique_ptr<JobBatches>> Open(
      JobBatchesOptions options);

  const JobSpec& spec() const { return options_.spec; }
  const Dataset& dataset() const { return sampling_.dataset; }
  uint64_t content_fingerprint() const { return content_; }
  uint64_t batches_per_epoch() const {
    return BatchesPerEpoch(input(), sampling_.options);
  }
  uint64_t num_examples() const {
    return NumExamples(input(), sampling_.options);
  }
  // Returns MaxTaskBytesOf() of the job.
  uint64_t bound_bytes() const { return bound_bytes_; }
  uint32_t num_columns() const;  // Columns of the features; 0: there are none.
  bool has_labels() const;
  uint32_t num_targets() const;  // Columns of the targets; 0: there are none.

  // Makes a sampler for one thread.
  absl::StatusOr<ThreadSampler> NewSampler() const;

  // Makes batch `seq` of the job. `own` is the thread's. `check` is called
  // while the thread waits for another one, and its error ends the wait. Any
  // thread. InvalidArgument: the dataset has changed.
  absl::Status Make(BatchSeq seq, const ThreadSampler& own,
                    absl::FunctionRef<absl::Status()> check,
                    LoadedBatch* batch) const;

  // FailedPrecondition, with the way out: the files of the dataset are not
  // those that were opened.
  absl::Status CheckUnchanged() const;

 private:
  JobBatches(JobBatchesOptions options, JobSampling sampling)
      : options_(std::move(options)), sampling_(std::move(sampling)) {}

  SamplerInput input() const;
  absl::Status Answer(LoadedBatch* batch) const;

  const JobBatchesOptions options_;
  const JobSampling sampling_;
  uint64_t content_ = 0;
  uint64_t bound_bytes_ = 0;
  std::unique_ptr<FeatureStore> features_;  // Null: the dataset has none.
  std::unique_ptr<MatchedOrder> order_;     // Null: batches are as drawn.
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_PYTHON_NATIVE_JOB_BATCHES_H_
