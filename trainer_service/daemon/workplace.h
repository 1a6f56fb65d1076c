// What a trainer computes with: a mapped dataset, its features, threads and a
// model of the right shape.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_WORKPLACE_H_
#define FGNN_TRAINER_SERVICE_DAEMON_WORKPLACE_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/config/job_spec.h"
#include "shared/graph/dataset.h"
#include "shared/queue/segment.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/features/cpu/feature_cache.h"
#include "trainer_service/features/feature_store.h"
#include "trainer_service/infer/layer_wise.h"
#include "trainer_service/nn/job_model.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Features that are cached, of features() of a workplace.
struct LoadedCache {
  TrainerCache plan;  // As it was asked for.
  FeatureCache cache;
  // Of the rank order that the cache is laid out by; 0: nothing is cached.
  uint32_t rank_order_version = 0;
};

// One user at a time (its threads and its model's buffers are shared), except
// for what is const.
class Workplace {
 public:
  // Of a job. The dataset was validated by the scheduler; only types and
  // shapes are looked at. num_threads >= 1. `plugins`: the folder of the user's
  // libraries. Errors of Dataset::Open(), ModelOptionsOf(),
  // OpenDiskFeatureStore() and MakeTorchModel().
  static absl::StatusOr<std::unique_ptr<Workplace>> OpenForJob(
      const JobSpec& spec, int num_threads,
      const std::filesystem::path& plugins = {});
  // Of a model that is known, on any dataset with features of its width.
  static absl::StatusOr<std::unique_ptr<Workplace>> OpenForModel(
      const std::filesystem::path& dataset_folder, const ModelOptions& options,
      int num_threads, const std::filesystem::path& plugins = {});

  const Dataset& dataset() const { return dataset_; }
  const FeatureStore& features() const { return *features_; }
  // What is cached now. Never null; any thread.
  std::shared_ptr<const LoadedCache> cache() const;
  ThreadTeam& team() { return team_; }
  const ThreadTeam& team() const { return team_; }
  Model& model() { return *model_; }
  const Model& model() const { return *model_; }
  // CRC32C of the user's code that the model is; 0: it is ours.
  uint32_t code_crc32c() const { return code_crc32c_; }

  // Sees to it that what is planned is cached: the features of the first
  // plan.rows vertices of the saved RankOrder. Where that was lost, as derived/
  // may be emptied at any time, the log says so and nothing is cached. Does
  // nothing if it was so planned before. Errors of FeatureCache::Load().
  absl::Status CacheAsPlanned(const TrainerCache& plan);
  // Of a trainer that does not work now: a cache of more rows than are planned
  // goes, for others grow into its memory. CacheAsPlanned() fills it again.
  void GiveUpMoreThan(const TrainerCache& plan);

  // Borrows from this and from `weights` [P].
  InferenceInput ForInference(absl::Span<const float> weights,
                              std::function<absl::Status()> check);

  // The global ids of "train", "valid" or "test"; InvalidArgument otherwise.
  absl::StatusOr<absl::Span<const int64_t>> SplitOf(
      const std::string& name) const;
  // The edges of "train", "valid" or "test"; InvalidArgument otherwise.
  absl::StatusOr<EdgeView> EdgesOf(const std::string& name) const;

 private:
  Workplace(Dataset dataset, std::unique_ptr<FeatureStore> features,
            int num_threads);
  void SetCache(LoadedCache cache);
  absl::Status MakeModel(const ModelOptions& options,
                         const std::filesystem::path& plugins, uint64_t seed);

  Dataset dataset_;
  std::unique_ptr<FeatureStore> features_;
  mutable std::mutex cache_mutex_;
  std::shared_ptr<const LoadedCache> cache_;  // Guarded by cache_mutex_.
  ThreadTeam team_;
  std::unique_ptr<Model> model_;
  uint32_t code_crc32c_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_WORKPLACE_H_
