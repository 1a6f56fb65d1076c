#include "trainer_service/daemon/workplace.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/crc32c.h"
#include "shared/base/file.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/device/memory.h"
#include "shared/graph/rank_order.h"
#include "shared/telemetry/log.h"
#include "trainer_service/features/cpu/disk_feature_store.h"
#include "trainer_service/features/cpu/mapped_feature_store.h"
#include "trainer_service/nn/cpu/cpu_model.h"
#include "trainer_service/nn/torch/torch_model.h"

namespace fgnn {

Workplace::Workplace(Dataset dataset, std::unique_ptr<FeatureStore> features,
                     int num_threads)
    : dataset_(std::move(dataset)),
      features_(std::move(features)),
      cache_(std::make_shared<const LoadedCache>(
          LoadedCache{.plan = {}, .cache = FeatureCache(features_.get())})),
      team_(num_threads) {}

absl::Status UnknownSplit(const std::string& name) {
  return absl::InvalidArgumentError(absl::StrCat(
      "split '", name, "' is not known; there are train, valid and test"));
}

// By features.store of the job.
absl::StatusOr<std::unique_ptr<FeatureStore>> OpenFeatureStore(
    const Dataset& dataset, const std::string& store) {
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

absl::Status Workplace::MakeModel(const ModelOptions& options,
                                  const std::filesystem::path& plugins,
                                  uint64_t seed) {
  if (!options.is_users()) {
    FGNN_ASSIGN_OR_RETURN(model_, MakeCpuModel(options, &team_));
    return absl::OkStatus();
  }
  FGNN_ASSIGN_OR_RETURN(model_, MakeTorchModel(options, plugins, seed, &team_));
  FGNN_ASSIGN_OR_RETURN(const MappedFile code,
                        MappedFile::Open(CodeOf(options, plugins)));
  code_crc32c_ = ExtendCrc32c(0, code.bytes().data(), code.bytes().size());
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Workplace>> Workplace::OpenForJob(
    const JobSpec& spec, int num_threads,
    const std::filesystem::path& plugins) {
  FGNN_ASSIGN_OR_RETURN(Dataset dataset,
                        Dataset::Open(spec.dataset, Validation::kShapes));
  FGNN_ASSIGN_OR_RETURN(const ModelOptions options,
                        ModelOptionsOf(spec, dataset));
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<FeatureStore> features,
                        OpenFeatureStore(dataset, spec.features.store));
  std::unique_ptr<Workplace> workplace = absl::WrapUnique(
      new Workplace(std::move(dataset), std::move(features), num_threads));
  FGNN_RETURN_IF_ERROR(
      workplace->MakeModel(options, plugins, spec.training.seed));
  return workplace;
}

absl::StatusOr<std::unique_ptr<Workplace>> Workplace::OpenForModel(
    const std::filesystem::path& dataset_folder, const ModelOptions& options,
    int num_threads, const std::filesystem::path& plugins) {
  // Nobody has looked at this folder before.
  FGNN_ASSIGN_OR_RETURN(Dataset dataset,
                        Dataset::Open(dataset_folder, Validation::kStructure));
  if (dataset.features().columns != options.input_columns) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dataset ", dataset_folder.string(), " has ",
        dataset.features().columns, " feature columns; the model takes ",
        options.input_columns));
  }
  std::unique_ptr<FeatureStore> features =
      MakeMappedFeatureStore(dataset.features());
  std::unique_ptr<Workplace> workplace = absl::WrapUnique(
      new Workplace(std::move(dataset), std::move(features), num_threads));
  FGNN_RETURN_IF_ERROR(workplace->MakeModel(options, plugins, /*seed=*/0));
  return workplace;
}

std::shared_ptr<const LoadedCache> Workplace::cache() const {
  const std::lock_guard lock(cache_mutex_);
  return cache_;
}

void Workplace::SetCache(LoadedCache cache) {
  auto next = std::make_shared<const LoadedCache>(std::move(cache));
  const std::lock_guard lock(cache_mutex_);
  cache_ = std::move(next);
}

absl::Status Workplace::CacheAsPlanned(const TrainerCache& plan) {
  if (cache()->plan == plan) return absl::OkStatus();
  // The cache before it goes first: there may be no room for both.
  SetCache({.plan = plan, .cache = FeatureCache(features_.get())});
  if (plan.rank_order_key == 0 || plan.rows == 0) return absl::OkStatus();
  const absl::StatusOr<RankOrder> order =
      RankOrder::Open(dataset_, plan.rank_order_key);
  if (!order.ok()) {
    LogWarning("no features are cached: {}", MessageOf(order.status()));
    return absl::OkStatus();
  }
  FGNN_ASSIGN_OR_RETURN(
      FeatureCache loaded,
      FeatureCache::Load(features_.get(),
                         order->vertices().subspan(0, plan.rows), team_));
  LogInfo("cached the features of {} vertices, {}", loaded.capacity(),
          FormatBytes(loaded.bytes()));
  SetCache({.plan = plan,
            .cache = std::move(loaded),
            .rank_order_version = order->version()});
  return absl::OkStatus();
}

void Workplace::GiveUpMoreThan(const TrainerCache& plan) {
  if (cache()->cache.capacity() <= plan.rows) return;
  SetCache({.plan = {}, .cache = FeatureCache(features_.get())});
}

InferenceInput Workplace::ForInference(absl::Span<const float> weights,
                                       std::function<absl::Status()> check) {
  InferenceInput input;
  input.model = model_.get();
  input.weights = weights;
  input.graph = &dataset_.graph();
  input.features = features_.get();
  input.team = &team_;
  input.check = std::move(check);
  return input;
}

absl::StatusOr<EdgeView> Workplace::EdgesOf(const std::string& name) const {
  if (name == "train") return dataset_.train_edges();
  if (name == "valid") return dataset_.valid_edges();
  if (name == "test") return dataset_.test_edges();
  return UnknownSplit(name);
}

absl::StatusOr<absl::Span<const int64_t>> Workplace::SplitOf(
    const std::string& name) const {
  if (name == "train") return dataset_.train();
  if (name == "valid") return dataset_.valid();
  if (name == "test") return dataset_.test();
  return UnknownSplit(name);
}

}  // namespace fgnn
