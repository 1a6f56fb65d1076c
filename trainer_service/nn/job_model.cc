#include "trainer_service/nn/job_model.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// The scheduler has checked the same, by the files' headers.
absl::Status CheckAnswers(Objective objective, const Dataset& dataset) {
  const std::string folder = dataset.folder().string();
  if (objective == Objective::kClasses && dataset.labels().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dataset ", folder, " has no labels.npy; training needs labels"));
  }
  if (!HasTargets(objective)) return absl::OkStatus();
  const TargetType type = objective == Objective::kValues ? TargetType::kFloat32
                                                          : TargetType::kBits;
  const TargetView& targets = dataset.targets();
  if (targets.rows > 0 && targets.type == type) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "dataset ", folder, " has no targets.npy of ", std::string(NameOf(type)),
      "; training.task ", std::string(TaskOf(objective)), " needs it"));
}

uint32_t ColumnsOf(Objective objective, const Dataset& dataset) {
  if (objective == Objective::kLinks) return 0;
  return HasTargets(objective) ? dataset.num_targets() : dataset.num_classes();
}

Precision PrecisionOf(const TrainingSpec& training) {
  if (training.precision == "bf16") return Precision::kBfloat16;
  if (training.precision == "tf32") return Precision::kTf32;
  return Precision::kFloat32;
}

}  // namespace

absl::StatusOr<ModelOptions> ModelOptionsOf(const JobSpec& spec,
                                            const Dataset& dataset) {
  const std::string folder = dataset.folder().string();
  if (dataset.features().columns == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dataset ", folder, " has no features.npy; a model needs features"));
  }
  FGNN_RETURN_IF_ERROR(CheckAnswers(spec.training.objective(), dataset));
  if (spec.sampling.fanouts.size() != spec.model.layers) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model.layers is ", spec.model.layers, " but sampling.fanouts has ",
        spec.sampling.fanouts.size(), " hops; each layer takes one hop"));
  }
  ModelOptions options;
  options.kind = spec.model.kind;
  options.layers = spec.model.layers;
  options.hidden = spec.model.hidden;
  options.dropout = spec.model.dropout;
  options.input_dropout = spec.model.input_dropout;
  options.aggregator = spec.model.aggregator;
  options.heads = spec.model.heads;
  options.attention_dropout = spec.model.attention_dropout;
  options.normalization = spec.model.normalization;
  options.residual = spec.model.residual;
  options.degree_norm = spec.model.degree_norm;
  options.label_smoothing = spec.training.label_smoothing;
  options.plugin = spec.model.plugin;
  options.file = spec.model.file;
  options.class_name = spec.model.class_name;
  options.python = spec.model.python;
  options.precision = PrecisionOf(spec.training);
  options.input_columns = dataset.features().columns;
  options.objective = spec.training.objective();
  options.num_classes = ColumnsOf(options.objective, dataset);
  FGNN_RETURN_IF_ERROR(ValidateOptions(options));
  return options;
}

}  // namespace fgnn
