// What a trainer computes with: a mapped dataset, its features, threads and a
// model of the right shape.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_WORKPLACE_H_
#define FGNN_TRAINER_SERVICE_DAEMON_WORKPLACE_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/config/job_spec.h"
#include "shared/graph/dataset.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/features/cpu/feature_cache.h"
#include "trainer_service/features/feature_store.h"
#include "trainer_service/infer/layer_wise.h"
#include "trainer_service/nn/job_model.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// One user at a time (its threads and its model's buffers are shared), except
// for what is const.
class Workplace {
 public:
  // Of a job. The dataset was validated by the scheduler; only types and
  // shapes are looked at. num_threads >= 1. Errors of Dataset::Open(),
  // ModelOptionsOf() and OpenDiskFeatureStore().
  static absl::StatusOr<std::unique_ptr<Workplace>> OpenForJob(
      const JobSpec& spec, int num_threads);
  // Of a model that is known, on any dataset with features of its width.
  static absl::StatusOr<std::unique_ptr<Workplace>> OpenForModel(
      const std::filesystem::path& dataset_folder, const ModelOptions& options,
      int num_threads);

  const Dataset& dataset() const { return dataset_; }
  const FeatureStore& features() const { return *features_; }
  const FeatureCache& cache() const { return cache_; }
  // Of the rank order that the cache is laid out by; 0: nothing is cached.
  uint32_t rank_order_version() const { return rank_order_version_; }
  ThreadTeam& team() { return team_; }
  const ThreadTeam& team() const { return team_; }
  Model& model() { return *model_; }

  // Caches the features of the first `rows` vertices of the saved RankOrder of
  // this key. Where that was lost, as derived/ may be emptied at any time, the
  // log says so and nothing is cached. Errors of FeatureCache::Load().
  absl::Status LoadCache(uint64_t rank_order_key, uint64_t rows);

  // Borrows from this and from `weights` [P].
  InferenceInput ForInference(absl::Span<const float> weights,
                              std::function<absl::Status()> check);

  // The global ids of "train", "valid" or "test"; InvalidArgument otherwise.
  absl::StatusOr<absl::Span<const int64_t>> SplitOf(
      const std::string& name) const;

 private:
  Workplace(Dataset dataset, std::unique_ptr<FeatureStore> features,
            int num_threads);

  Dataset dataset_;
  std::unique_ptr<FeatureStore> features_;
  FeatureCache cache_;  // Of features_.
  uint32_t rank_order_version_ = 0;
  ThreadTeam team_;
  std::unique_ptr<Model> model_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_WORKPLACE_H_
