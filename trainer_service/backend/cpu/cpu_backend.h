// A trainer's back end on cores of the host: a mapped dataset, its features,
// threads and the job's model.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_CPU_CPU_BACKEND_H_
#define FGNN_TRAINER_SERVICE_BACKEND_CPU_CPU_BACKEND_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/config/job_spec.h"
#include "shared/graph/dataset.h"
#include "trainer_service/backend/cpu/planned_cache.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/features/feature_store.h"
#include "trainer_service/infer/inference_device.h"
#include "trainer_service/infer/layer_wise.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// All device bytes are 0.
class CpuBackend final : public TrainerBackend {
 public:
  // Opens the back end of a job. The scheduler has validated the dataset; this
  // function only checks types and shapes. num_threads >= 1. `plugins`: the
  // folder of the user's libraries. Returns errors of Dataset::Open(),
  // ModelOptionsOf(), OpenDiskFeatureStore(), OpenTorchLibrary() and of
  // making a user's model.
  static absl::StatusOr<std::unique_ptr<CpuBackend>> OpenForJob(
      const JobSpec& spec, int num_threads,
      const std::filesystem::path& plugins = {});
  // Does the same for a model with known options, on any dataset with features
  // of the model's width.
  static absl::StatusOr<std::unique_ptr<CpuBackend>> OpenForModel(
      const std::filesystem::path& dataset_folder, const ModelOptions& options,
      int num_threads, const std::filesystem::path& plugins = {});

  const Dataset& dataset() const override { return dataset_; }
  const ModelOptions& model_options() const override {
    return model_->options();
  }
  const std::vector<ParameterInfo>& parameters() const override {
    return model_->parameters();
  }
  uint32_t code_crc32c() const override { return code_crc32c_; }

  void ShareTables(HotTableSource source) override {
    cache_.ShareTables(std::move(source));
  }
  UniqueFd SharedTable() const override { return cache_.SharedTable(); }
  absl::Status CacheAsPlanned(const TrainerCache& plan) override {
    return cache_.Follow(plan, dataset_, team_);
  }
  bool IsCachedAs(const TrainerCache& plan) const override {
    return cache_.IsFollowed(plan);
  }
  void GiveUpMoreThan(const TrainerCache& plan) override {
    cache_.GiveUpMoreThan(plan);
  }
  std::unique_ptr<TaskFeatures> NewFeatures() const override;
  absl::StatusOr<ExtractedRows> Extract(const TaskView& task,
                                        const TaskFeatures* before,
                                        TrainerThread thread,
                                        TaskFeatures* features) override;
  absl::StatusOr<BatchResult> Gradient(const VersionedWeights& weights,
                                       const TrainingTask& task,
                                       TaskFeatures* features,
                                       absl::Span<float> gradient) override;
  absl::Status Step(uint64_t seed, const OptimizerOptions& options,
                    const StepTensors& step) override;
  absl::StatusOr<std::vector<SplitScore>> Evaluate(
      const ScoredWeights& weights,
      const std::vector<absl::Span<const int64_t>>& splits) override;
  absl::StatusOr<std::vector<EdgeRanking>> RankEdges(
      const ScoredWeights& weights, absl::Span<const EdgeView> splits) override;

  PlacedBytes BytesOfFeatures(const TaskView& task) const override;
  absl::StatusOr<PlacedBytes> BytesInUse() const override;
  EvaluationBytes BytesOfEvaluation() override;
  uint64_t progress(TrainerThread thread) const override;

  // Functions for callers that know that this is a CpuBackend.
  const FeatureStore& features() const { return *features_; }
  Model& model() { return *model_; }
  ThreadTeam& team(TrainerThread thread) {
    return thread == TrainerThread::kLoop ? team_ : ahead_team_;
  }
  // The features that are cached now. Never null; any thread.
  std::shared_ptr<const LoadedCache> cache() const { return cache_.now(); }
  // Lets a device, which is borrowed, compute all later inferences.
  void InferOn(InferenceDevice* device) { inference_device_ = device; }
  // Returns the input of an inference. It borrows from this back end and from
  // the weights.
  InferenceInput ForInference(const ScoredWeights& weights);

 private:
  CpuBackend(Dataset dataset, std::unique_ptr<FeatureStore> features,
             int num_threads);
  absl::Status MakeModel(const ModelOptions& options,
                         const std::filesystem::path& plugins, uint64_t seed);

  Dataset dataset_;
  std::unique_ptr<FeatureStore> features_;
  PlannedCache cache_;
  ThreadTeam team_;
  ThreadTeam ahead_team_{1};  // The thread that extracts ahead.
  std::unique_ptr<Model> model_;
  uint32_t code_crc32c_ = 0;
  bool matches_ = false;  // See ChooseMatch().
  InferenceDevice* inference_device_ = nullptr;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CPU_CPU_BACKEND_H_
