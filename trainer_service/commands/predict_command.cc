#include "trainer_service/commands/predict_command.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/config/checkpoint_name.h"
#include "shared/device/device.h"
#include "shared/graph/dataset_names.h"
#include "trainer_service/backend/check_code.h"
#include "trainer_service/backend/cpu/host_model.h"
#include "trainer_service/checkpoint/checkpoint.h"
#include "trainer_service/commands/id_file.h"
#include "trainer_service/commands/predict_flags.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/infer/new_neighbors.h"
#include "trainer_service/infer/predict.h"
#include "trainer_service/infer/score_pairs.h"
#include "trainer_service/infer/tables/class_map.h"
#include "trainer_service/infer/tables/link_table.h"
#include "trainer_service/infer/tables/vertex_truth.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kDefaultNeighbours = 10;

// An opened model and what it is asked for. Borrowed.
struct Work {
  const PredictOptions& options;
  PredictionKind kind;
  const ClassMap& map;
  HostModel& host;
};

// Returns the type of the targets that a model learns.
TargetType TypeOf(Objective objective) {
  return objective == Objective::kLabelSets ? TargetType::kBits
                                            : TargetType::kFloat32;
}

absl::StatusOr<std::vector<GlobalId>> ChosenVertices(const Work& work) {
  const Dataset& dataset = work.host.dataset();
  if (work.options.vertices.empty()) return AllVertices(dataset.num_nodes());
  return ReadIdFile(work.options.vertices, /*columns=*/1, dataset);
}

absl::Status PredictClasses(const Work& work, const InferenceInput& input,
                            absl::Span<const GlobalId> vertices,
                            PredictSummary* summary) {
  FGNN_ASSIGN_OR_RETURN(
      const Predictions predictions,
      Predict(input, vertices, work.options.top_k.value_or(1)));
  const Dataset& dataset = work.host.dataset();
  FGNN_ASSIGN_OR_RETURN(const VertexTruth truth, VertexTruth::Make(dataset));
  const ClassTable table = {vertices, &predictions, &work.map, &dataset,
                            &truth};
  summary->matches = CountMatches(table);
  return WriteClassTable(work.options.out, table);
}

// Predicts with a model of targets. Writes the table, or the array alone.
absl::Status PredictTargets(const Work& work, const InferenceInput& input,
                            absl::Span<const GlobalId> vertices,
                            PredictSummary* summary) {
  FGNN_ASSIGN_OR_RETURN(
      RowFile rows, PredictRows(input, vertices, work.kind, work.options.out));
  const Dataset& dataset = work.host.dataset();
  FGNN_ASSIGN_OR_RETURN(const VertexTruth truth, VertexTruth::Make(dataset));
  const TargetTable table = {
      vertices,  &rows,    TypeOf(input.model->options().objective),
      &work.map, &dataset, &truth};
  FGNN_ASSIGN_OR_RETURN(summary->target_scores, ScoreTargets(table));
  return work.options.out.extension() == ".csv"
             ? WriteTargetTable(work.options.out, table)
             : rows.Commit();
}

absl::Status PredictScores(const Work& work, const InferenceInput& input,
                           PredictSummary* summary) {
  const Dataset& dataset = work.host.dataset();
  FGNN_ASSIGN_OR_RETURN(const std::vector<GlobalId> pairs,
                        ReadIdFile(work.options.pairs, /*columns=*/2, dataset));
  summary->num_pairs = pairs.size() / 2;
  FGNN_ASSIGN_OR_RETURN(const std::vector<float> scores,
                        ScorePairs(input, pairs));
  return WritePairScores(work.options.out, pairs, scores, dataset);
}

absl::Status PredictNeighbours(const Work& work, const InferenceInput& input,
                               absl::Span<const GlobalId> vertices) {
  const Dataset& dataset = work.host.dataset();
  const uint32_t num_best = work.options.top_k.value_or(kDefaultNeighbours);
  if (work.options.top_k.has_value() && num_best >= dataset.num_nodes()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--top-k ", num_best, ": dataset ", dataset.folder().string(), " has ",
        dataset.num_nodes(), " vertices; choose a smaller number"));
  }
  FGNN_ASSIGN_OR_RETURN(const NewNeighbors found,
                        FindNewNeighbors(input, vertices, num_best));
  return WriteNewNeighbors(work.options.out, vertices, found, dataset);
}

absl::Status PredictAndWrite(const Work& work, absl::Span<const float> weights,
                             PredictSummary* summary) {
  ScoredWeights scored;
  scored.values = weights;
  const InferenceInput input = work.host.ForInference(scored);
  if (work.kind == PredictionKind::kScores) {
    return PredictScores(work, input, summary);
  }
  FGNN_ASSIGN_OR_RETURN(const std::vector<GlobalId> vertices,
                        ChosenVertices(work));
  summary->num_vertices = vertices.size();
  if (work.kind == PredictionKind::kNeighbours) {
    return PredictNeighbours(work, input, vertices);
  }
  if (work.kind != PredictionKind::kEmbeddings &&
      input.model->options().has_targets()) {
    return PredictTargets(work, input, vertices, summary);
  }
  if (work.kind == PredictionKind::kClasses) {
    return PredictClasses(work, input, vertices, summary);
  }
  FGNN_ASSIGN_OR_RETURN(
      RowFile rows, PredictRows(input, vertices, work.kind, work.options.out));
  return rows.Commit();
}

bool IsRenumbered(const ClassMap& map) {
  for (size_t c = 0; c < map.numbers.size(); ++c) {
    if (map.numbers[c] != static_cast<int64_t>(c)) return true;
  }
  return false;
}

// Returns the names that the checkpoint keeps of its dataset. Those that it has
// not may be in the run's folder.
absl::StatusOr<DatasetNames> NamesOfModel(const PredictOptions& options,
                                          const CheckpointInfo& info) {
  DatasetNames names = info.names;
  if (options.run.empty()) return names;
  FGNN_ASSIGN_OR_RETURN(
      DatasetNames of_run,
      ReadDatasetNames(options.run, info.model.num_classes,
                       info.model.input_columns, info.model.num_classes));
  if (names.classes.empty()) names.classes = std::move(of_run.classes);
  if (names.features.empty()) names.features = std::move(of_run.features);
  if (names.targets.empty()) names.targets = std::move(of_run.targets);
  return names;
}

// Finds the model's columns of targets in the dataset. A dataset with targets
// of another type has none for this model.
absl::StatusOr<ClassMap> MapTargets(const PredictOptions& options,
                                    const ModelOptions& model,
                                    const DatasetNames& of_model,
                                    const DatasetNames& of_dataset,
                                    const Dataset& dataset) {
  const bool has_targets = dataset.targets().rows > 0 &&
                           dataset.targets().type == TypeOf(model.objective);
  return MapClasses(
      {model.num_classes, of_model.targets, "the model",
       (options.run / kTargetNamesFile).string()},
      {has_targets ? dataset.num_targets() : 0,
       has_targets ? of_dataset.targets : std::vector<std::string>(),
       absl::StrCat("dataset ", options.dataset.string()),
       (options.dataset / kTargetNamesFile).string()},
      model.objective == Objective::kValues ? kTargetWords : kSetWords);
}

// Finds the model's classes in the dataset. Refuses a dataset whose classes or
// feature columns are known to be others.
absl::StatusOr<ClassMap> MapToDataset(const PredictOptions& options,
                                      const CheckpointInfo& info,
                                      PredictionKind kind,
                                      const Dataset& dataset) {
  const std::string what = absl::StrCat("dataset ", options.dataset.string());
  FGNN_ASSIGN_OR_RETURN(const DatasetNames of_model,
                        NamesOfModel(options, info));
  FGNN_ASSIGN_OR_RETURN(
      const DatasetNames of_dataset,
      ReadDatasetNames(dataset.folder(), dataset.num_classes(),
                       dataset.features().columns, dataset.num_targets()));
  FGNN_RETURN_IF_ERROR(
      CheckFeatureNames(of_model.features, of_dataset.features, what));
  if (kind == PredictionKind::kEmbeddings || IsOfLinks(kind)) {
    return ClassMap();
  }
  if (info.model.has_targets()) {
    return MapTargets(options, info.model, of_model, of_dataset, dataset);
  }
  FGNN_ASSIGN_OR_RETURN(
      ClassMap map,
      MapClasses({info.model.num_classes, of_model.classes, "the model",
                  (options.run / kClassNamesFile).string()},
                 {dataset.num_classes(), of_dataset.classes, what,
                  (options.dataset / kClassNamesFile).string()}));
  if (kind == PredictionKind::kProbabilities && IsRenumbered(map)) {
    map.notice = absl::StrCat(
        "columns are the classes of the model, in an order that is not that "
        "of ",
        what, "; --json prints their names");
  }
  return map;
}

// Says in the summary what the model is.
void DescribeModel(const CheckpointInfo& info, const ClassMap& map,
                   PredictSummary* summary) {
  const bool of_numbers = info.model.objective == Objective::kValues;
  const auto has_name = [](const std::string& name) { return !name.empty(); };
  if (std::any_of(map.names.begin(), map.names.end(), has_name)) {
    (of_numbers ? summary->target_names : summary->class_names) = map.names;
  }
  (of_numbers ? summary->num_targets : summary->num_classes) =
      info.model.num_classes;
  summary->notice = map.notice;
  summary->epoch = info.epoch;
}

// Lets the device compute, if it is a GPU, and returns it; null: cores do.
absl::StatusOr<std::unique_ptr<InferenceDevice>> OpenGpu(
    const PredictOptions& options, const Device& device, HostModel& host) {
  if (device.kind != DeviceKind::kCuda) return nullptr;
  absl::StatusOr<std::unique_ptr<InferenceDevice>> gpu = options.open_device(
      device.index, host.model().options(), &host.team(TrainerThread::kLoop));
  if (absl::IsFailedPrecondition(gpu.status())) {
    return absl::NotFoundError(
        absl::StrCat("--device: ", MessageOf(gpu.status())));
  }
  if (!gpu.ok()) return Annotate(gpu.status(), "--device");
  host.InferOn(gpu->get());
  return gpu;
}

}  // namespace

absl::StatusOr<fs::path> FindCheckpoint(const fs::path& run) {
  const fs::path folder = run / "checkpoints";
  std::error_code error;
  const fs::path best = folder / kBestCheckpointName;
  if (fs::exists(best, error)) return best;
  absl::StatusOr<std::vector<fs::path>> checkpoints = FindCheckpoints(folder);
  if (checkpoints.ok() && !checkpoints->empty()) return checkpoints->front();
  return absl::NotFoundError(absl::StrCat(
      "no checkpoint in ", folder.string(),
      "; name the folder of a run (the one with job.yaml), or a file with "
      "--checkpoint"));
}

absl::StatusOr<PredictSummary> RunPredict(const PredictOptions& options) {
  const Stopwatch stopwatch;
  FGNN_RETURN_IF_ERROR(options.what.empty()
                           ? absl::OkStatus()
                           : PredictionKindOf(options.what).status());
  FGNN_ASSIGN_OR_RETURN(
      const Device device,
      ParseDevice(options.device.empty() ? AllCoresDevice() : options.device));
  FGNN_RETURN_IF_ERROR(PinThisThread(device));
  PredictSummary summary;
  summary.out = options.out;
  summary.checkpoint = options.checkpoint;
  if (summary.checkpoint.empty()) {
    FGNN_ASSIGN_OR_RETURN(summary.checkpoint, FindCheckpoint(options.run));
  }
  FGNN_ASSIGN_OR_RETURN(const Checkpoint checkpoint,
                        ReadCheckpoint(summary.checkpoint));
  const ModelOptions& model = checkpoint.info.model;
  FGNN_ASSIGN_OR_RETURN(
      const PredictionKind kind,
      options.what.empty() ? UsualKind(model) : PredictionKindOf(options.what));
  summary.what = WordOf(kind);
  FGNN_RETURN_IF_ERROR(CheckPredictionsPath(options.out, kind));
  FGNN_RETURN_IF_ERROR(CheckPredictFlags(options, kind, model));
  FGNN_ASSIGN_OR_RETURN(
      const std::unique_ptr<HostModel> host,
      HostModel::OpenForModel(options.dataset, model,
                              static_cast<int>(device.cores.size()),
                              options.plugins));
  FGNN_RETURN_IF_ERROR(
      Annotate(CheckCode(checkpoint.info, model, host->model().parameters(),
                         host->code_crc32c()),
               absl::StrCat("checkpoint ", summary.checkpoint.string())));
  FGNN_ASSIGN_OR_RETURN(
      const ClassMap map,
      MapToDataset(options, checkpoint.info, kind, host->dataset()));
  FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<InferenceDevice> gpu,
                        OpenGpu(options, device, *host));
  Scratch<float> weights;
  const size_t num_weights = checkpoint.weights.size();
  std::copy(checkpoint.weights.begin(), checkpoint.weights.end(),
            weights.Reserve(num_weights));
  FGNN_RETURN_IF_ERROR(PredictAndWrite(
      {options, kind, map, *host}, {weights.data(), num_weights}, &summary));
  DescribeModel(checkpoint.info, map, &summary);
  summary.seconds = stopwatch.Seconds();
  return summary;
}

}  // namespace fgnn
