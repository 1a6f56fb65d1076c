// A model on cores of the host, with all that its gradients, steps and
// inferences need there.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_CPU_HOST_MODEL_H_
#define FGNN_TRAINER_SERVICE_BACKEND_CPU_HOST_MODEL_H_

#include <cstdint>
#include <filesystem>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/config/job_spec.h"
#include "shared/graph/dataset.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/features/feature_store.h"
#include "trainer_service/features/hosts/partitioned_store.h"
#include "trainer_service/infer/inference_device.h"
#include "trainer_service/infer/layer_wise.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// A mapped dataset, the store of its features, threads and a model of nn/cpu,
// nn/python or nn/torch. A team belongs to its TrainerThread, the model to the
// loop's; the other parts do not change.
class HostModel {
 public:
  // Opens what a job trains. The scheduler has validated the dataset; this
  // function only checks types and shapes. num_threads >= 1: those of the loop.
  // `plugins`: the folder of the user's libraries. Returns errors of
  // Dataset::Open(), ModelOptionsOf(), OpenFeatureStore(), OwnPart::Open(),
  // PartitionedStore::Make(), OpenTorchLibrary() and of making a user's model.
  static absl::StatusOr<std::unique_ptr<HostModel>> OpenForJob(
      const JobSpec& spec, int num_threads,
      const std::filesystem::path& plugins = {});
  // Does the same for a model with known options, on any dataset with features
  // of the model's width.
  static absl::StatusOr<std::unique_ptr<HostModel>> OpenForModel(
      const std::filesystem::path& dataset_folder, const ModelOptions& options,
      int num_threads, const std::filesystem::path& plugins = {});

  const Dataset& dataset() const { return dataset_; }
  // See TrainerBackend.
  void FindDerivedIn(const std::filesystem::path& state_dir) {
    dataset_.FindDerivedIn(state_dir);
  }
  const FeatureStore& features() const { return *features_; }
  // The same store if the dataset's folder has a part of the rows; else null.
  PartitionedStore* partitioned() const { return partitioned_; }
  Model& model() { return *model_; }
  // See TrainerBackend.
  uint32_t code_crc32c() const { return code_crc32c_; }
  ThreadTeam& team(TrainerThread thread) {
    return thread == TrainerThread::kLoop ? team_ : ahead_team_;
  }

  // Lets a device, which is borrowed, compute all later inferences.
  void InferOn(InferenceDevice* device) { inference_device_ = device; }
  // Returns the input of an inference. It borrows from this object and from the
  // weights.
  InferenceInput ForInference(const ScoredWeights& weights);

 private:
  HostModel(Dataset dataset, std::unique_ptr<FeatureStore> features,
            int num_threads);
  // What a model is made for.
  struct ModelUse {
    const std::filesystem::path& plugins;
    bool infers = false;
    uint64_t seed = 0;
  };
  absl::Status MakeModel(const ModelOptions& options, const ModelUse& use);

  Dataset dataset_;
  std::unique_ptr<FeatureStore> features_;
  PartitionedStore* partitioned_ = nullptr;
  ThreadTeam team_;
  ThreadTeam ahead_team_{1};  // The thread that extracts ahead.
  std::unique_ptr<Model> model_;
  uint32_t code_crc32c_ = 0;
  InferenceDevice* inference_device_ = nullptr;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CPU_HOST_MODEL_H_
