#include "trainer_service/backend/cpu/host_model.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/crc32c.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"
#include "trainer_service/features/cpu/mapped_feature_store.h"
#include "trainer_service/features/cpu/open_feature_store.h"
#include "trainer_service/features/hosts/own_part.h"
#include "trainer_service/features/made_up_store.h"
#include "trainer_service/nn/cpu/cpu_model.h"
#include "trainer_service/nn/job_model.h"
#include "trainer_service/nn/python/python_model.h"
#include "trainer_service/nn/torch/torch_library.h"

namespace fgnn {

HostModel::HostModel(Dataset dataset, std::unique_ptr<FeatureStore> features,
                     int num_threads)
    : dataset_(std::move(dataset)),
      features_(std::move(features)),
      team_(num_threads) {}

absl::Status HostModel::MakeModel(const ModelOptions& options,
                                  const ModelUse& use) {
  const std::filesystem::path& plugins = use.plugins;
  if (!options.is_users()) {
    FGNN_ASSIGN_OR_RETURN(model_, MakeCpuModel(options, &team_));
    return absl::OkStatus();
  }
  if (options.kind == "python") {
    FGNN_ASSIGN_OR_RETURN(
        model_, MakePythonModel(options, use.infers, use.seed, &team_));
  } else {
    FGNN_ASSIGN_OR_RETURN(const TorchLibrary* const torch, OpenTorchLibrary());
    FGNN_ASSIGN_OR_RETURN(
        model_, torch->make_model(options, plugins, use.seed, &team_));
  }
  FGNN_ASSIGN_OR_RETURN(const MappedFile code,
                        MappedFile::Open(CodeOf(options, plugins)));
  code_crc32c_ = ExtendCrc32c(0, code.bytes().data(), code.bytes().size());
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<HostModel>> HostModel::OpenForJob(
    const JobSpec& spec, int num_threads,
    const std::filesystem::path& plugins) {
  FGNN_ASSIGN_OR_RETURN(Dataset dataset,
                        Dataset::Open(spec.dataset, Validation::kShapes));
  FGNN_ASSIGN_OR_RETURN(const ModelOptions options,
                        ModelOptionsOf(spec, dataset));
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<FeatureStore> features,
                        OpenFeatureStore(dataset, spec.features));
  PartitionedStore* partitioned = nullptr;
  if (dataset.host_rows().has_value() && spec.features.store != kMadeUpStore) {
    FGNN_ASSIGN_OR_RETURN(OwnPart part, OwnPart::Open(dataset));
    FGNN_ASSIGN_OR_RETURN(
        auto store,
        PartitionedStore::Make(std::move(features), std::move(part)));
    partitioned = store.get();
    features = std::move(store);
  }
  std::unique_ptr<HostModel> host = absl::WrapUnique(
      new HostModel(std::move(dataset), std::move(features), num_threads));
  host->partitioned_ = partitioned;
  FGNN_RETURN_IF_ERROR(
      host->MakeModel(options, {.plugins = plugins,
                                .infers = spec.training.evaluate_every > 0,
                                .seed = spec.training.seed}));
  return host;
}

absl::StatusOr<std::unique_ptr<HostModel>> HostModel::OpenForModel(
    const std::filesystem::path& dataset_folder, const ModelOptions& options,
    int num_threads, const std::filesystem::path& plugins) {
  // The scheduler has not validated this folder.
  FGNN_ASSIGN_OR_RETURN(Dataset dataset,
                        Dataset::Open(dataset_folder, Validation::kStructure));
  if (dataset.features().columns != options.input_columns) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dataset ", dataset_folder.string(), " has ",
        dataset.features().columns, " feature columns; the model takes ",
        options.input_columns));
  }
  FGNN_RETURN_IF_ERROR(CheckHasAllRows(dataset));
  std::unique_ptr<FeatureStore> features =
      MakeMappedFeatureStore(dataset.features());
  std::unique_ptr<HostModel> host = absl::WrapUnique(
      new HostModel(std::move(dataset), std::move(features), num_threads));
  FGNN_RETURN_IF_ERROR(host->MakeModel(
      options, {.plugins = plugins, .infers = true, .seed = 0}));
  return host;
}

InferenceInput HostModel::ForInference(const ScoredWeights& weights) {
  InferenceInput input;
  input.model = model_.get();
  input.weights = weights.values;
  input.graph = &dataset_.graph();
  input.features = features_.get();
  input.team = &team_;
  input.check = weights.check;
  input.shared = weights.shared;
  input.device = inference_device_;
  input.keeps_on_device = weights.keeps_on_device;
  input.permille = weights.permille;
  return input;
}

}  // namespace fgnn
