#include "trainer_service/backend/cpu/host_model.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/crc32c.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/device/memory.h"
#include "shared/telemetry/log.h"
#include "trainer_service/features/cpu/disk_feature_store.h"
#include "trainer_service/features/cpu/mapped_feature_store.h"
#include "trainer_service/nn/cpu/cpu_model.h"
#include "trainer_service/nn/job_model.h"
#include "trainer_service/nn/torch/torch_library.h"

namespace fgnn {
namespace {

// Opens the feature store that the job's features.store names.
absl::StatusOr<std::unique_ptr<FeatureStore>> OpenFeatureStore(
    const Dataset& dataset, const std::string& store) {
  FGNN_RETURN_IF_ERROR(CheckHasAllRows(dataset));
  const FeatureView& features = dataset.features();
  const uint64_t bytes = features.rows * features.row_bytes();
  FGNN_ASSIGN_OR_RETURN(const uint64_t available, AvailableMemoryBytes());
  if (store != "disk" && (store == "memory" || bytes <= available)) {
    return MakeMappedFeatureStore(features);
  }
  LogInfo("features of {} are read from the disk: {}, with {} of memory left",
          dataset.name(), FormatBytes(bytes), FormatBytes(available));
  absl::StatusOr<std::unique_ptr<DiskFeatureStore>> opened =
      OpenDiskFeatureStore(dataset.feature_file());
  if (!opened.ok()) return Annotate(opened.status(), "features.store");
  return std::unique_ptr<FeatureStore>(*std::move(opened));
}

}  // namespace

HostModel::HostModel(Dataset dataset, std::unique_ptr<FeatureStore> features,
                     int num_threads)
    : dataset_(std::move(dataset)),
      features_(std::move(features)),
      team_(num_threads) {}

absl::Status HostModel::MakeModel(const ModelOptions& options,
                                  const std::filesystem::path& plugins,
                                  uint64_t seed) {
  if (!options.is_users()) {
    FGNN_ASSIGN_OR_RETURN(model_, MakeCpuModel(options, &team_));
    return absl::OkStatus();
  }
  FGNN_ASSIGN_OR_RETURN(const TorchLibrary* const torch, OpenTorchLibrary());
  FGNN_ASSIGN_OR_RETURN(model_,
                        torch->make_model(options, plugins, seed, &team_));
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
                        OpenFeatureStore(dataset, spec.features.store));
  std::unique_ptr<HostModel> host = absl::WrapUnique(
      new HostModel(std::move(dataset), std::move(features), num_threads));
  FGNN_RETURN_IF_ERROR(host->MakeModel(options, plugins, spec.training.seed));
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
  FGNN_RETURN_IF_ERROR(host->MakeModel(options, plugins, /*seed=*/0));
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
