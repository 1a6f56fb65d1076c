#include "trainer_service/backend/cpu/cpu_backend.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/crc32c.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/config/rules/match_rules.h"
#include "shared/device/anonymous_memory.h"
#include "shared/device/memory.h"
#include "shared/telemetry/log.h"
#include "trainer_service/backend/cpu/cpu_features.h"
#include "trainer_service/features/cpu/disk_feature_store.h"
#include "trainer_service/features/cpu/mapped_feature_store.h"
#include "trainer_service/infer/evaluate_targets.h"
#include "trainer_service/nn/cpu/cpu_model.h"
#include "trainer_service/nn/job_model.h"
#include "trainer_service/nn/torch/torch_library.h"
#include "trainer_service/sync/optimizer_step.h"

namespace fgnn {
namespace {

// Returns the features as CpuFeatures. All features that callers pass came from
// NewFeatures() of this back end.
CpuFeatures* AsCpus(TaskFeatures* features) {
  return static_cast<CpuFeatures*>(features);
}

// Opens the feature store that the job's features.store names.
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

}  // namespace

CpuBackend::CpuBackend(Dataset dataset, std::unique_ptr<FeatureStore> features,
                       int num_threads)
    : dataset_(std::move(dataset)),
      features_(std::move(features)),
      cache_(features_.get()),
      team_(num_threads) {}

absl::Status CpuBackend::MakeModel(const ModelOptions& options,
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

absl::StatusOr<std::unique_ptr<CpuBackend>> CpuBackend::OpenForJob(
    const JobSpec& spec, int num_threads,
    const std::filesystem::path& plugins) {
  FGNN_ASSIGN_OR_RETURN(Dataset dataset,
                        Dataset::Open(spec.dataset, Validation::kShapes));
  FGNN_ASSIGN_OR_RETURN(const ModelOptions options,
                        ModelOptionsOf(spec, dataset));
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<FeatureStore> features,
                        OpenFeatureStore(dataset, spec.features.store));
  std::unique_ptr<CpuBackend> backend = absl::WrapUnique(
      new CpuBackend(std::move(dataset), std::move(features), num_threads));
  FGNN_RETURN_IF_ERROR(
      backend->MakeModel(options, plugins, spec.training.seed));
  const bool from_disk = backend->features_->data() == nullptr;
  const MatchChoice match = ChooseMatch(spec, from_disk);
  backend->matches_ = match.matches;
  if (match.matches || from_disk) {
    LogInfo("rows of the batch before are {}: {}",
            match.matches ? "copied, unless the model reads them where they lie"
                          : "loaded again",
            match.reason);
  }
  return backend;
}

absl::StatusOr<std::unique_ptr<CpuBackend>> CpuBackend::OpenForModel(
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
  std::unique_ptr<FeatureStore> features =
      MakeMappedFeatureStore(dataset.features());
  std::unique_ptr<CpuBackend> backend = absl::WrapUnique(
      new CpuBackend(std::move(dataset), std::move(features), num_threads));
  FGNN_RETURN_IF_ERROR(backend->MakeModel(options, plugins, /*seed=*/0));
  return backend;
}

std::unique_ptr<TaskFeatures> CpuBackend::NewFeatures() const {
  return std::make_unique<CpuFeatures>();
}

absl::StatusOr<ExtractedRows> CpuBackend::Extract(const TaskView& task,
                                                  const TaskFeatures* before,
                                                  TrainerThread thread,
                                                  TaskFeatures* features) {
  return AsCpus(features)->Extract(
      {.store = features_.get(),
       .cached = cache_.now(),
       .before = static_cast<const CpuFeatures*>(before),
       .matches = matches_},
      *model_, task, team(thread));
}

absl::StatusOr<BatchResult> CpuBackend::Gradient(
    const VersionedWeights& weights, const TrainingTask& task,
    TaskFeatures* features, absl::Span<float> gradient) {
  const CpuFeatures* const of_task = AsCpus(features);
  TrainingBatch batch;
  batch.task = task.task;
  batch.features = of_task->dense();
  batch.stored_rows = of_task->stored();
  batch.labels = task.labels;
  batch.targets = task.targets;
  batch.indptr = dataset_.graph().indptr;
  batch.seed = task.seed;
  batch.epoch = task.epoch;
  batch.batch = task.batch;
  return model_->Gradient(weights.values, batch, gradient);
}

absl::Status CpuBackend::Step(uint64_t seed, const OptimizerOptions& options,
                              const StepTensors& step) {
  return MakeStep(*model_, seed, options, step, team_);
}

absl::StatusOr<std::vector<SplitScore>> CpuBackend::Evaluate(
    const ScoredWeights& weights,
    const std::vector<absl::Span<const int64_t>>& splits) {
  if (model_->options().has_targets()) {
    return EvaluateTargets(ForInference(weights), dataset_.targets(), splits);
  }
  return fgnn::Evaluate(ForInference(weights), dataset_.labels(), splits);
}

absl::StatusOr<std::vector<EdgeRanking>> CpuBackend::RankEdges(
    const ScoredWeights& weights, absl::Span<const EdgeView> splits) {
  return fgnn::RankEdges(ForInference(weights), splits);
}

PlacedBytes CpuBackend::BytesOfFeatures(const TaskView& task) const {
  return {.host = CpuFeatures::Bytes(*features_, *model_, task, matches_)};
}

absl::StatusOr<PlacedBytes> CpuBackend::BytesInUse() const {
  FGNN_ASSIGN_OR_RETURN(const uint64_t taken, AnonymousMemoryBytes());
  return PlacedBytes{.host = taken + model_->gradient_working_bytes()};
}

EvaluationBytes CpuBackend::BytesOfEvaluation() {
  const InferenceInput input = ForInference({});
  EvaluationBytes bytes;
  bytes.shared = InferenceArrayBytes(input);
  bytes.own.host = InferenceBytes(input) - bytes.shared;
  if (model_->options().has_targets()) {
    bytes.shared += TargetScoreBytes(
        model_->options(),
        std::max(dataset_.valid().size(), dataset_.test().size()));
  }
  if (model_->options().predicts_links()) {
    const uint64_t largest_split =
        std::max(dataset_.valid_edges().size(), dataset_.test_edges().size());
    bytes.shared += EmbeddingBytes(input);
    bytes.own.host += RankingBytes(input, largest_split);
  }
  return bytes;
}

uint64_t CpuBackend::progress(TrainerThread thread) const {
  return thread == TrainerThread::kLoop ? team_.tasks_begun()
                                        : ahead_team_.tasks_begun();
}

InferenceInput CpuBackend::ForInference(const ScoredWeights& weights) {
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
  return input;
}

}  // namespace fgnn
