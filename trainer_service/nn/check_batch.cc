#include "trainer_service/nn/check_batch.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

absl::Status CheckFeatures(const ModelOptions& options,
                           const TrainingBatch& batch) {
  const size_t nodes = batch.task->input_nodes.size();
  const size_t floats = batch.features.size();
  const size_t rows = batch.stored_rows.rows.size();
  if (floats == nodes * options.input_columns && rows == 0) {
    return absl::OkStatus();
  }
  if (floats == 0 && rows == nodes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("batch ", batch.task->seq.value(), " has ", nodes,
                   " input nodes of ", options.input_columns, " columns; got ",
                   floats, " features and ", rows, " stored rows"));
}

absl::Status CheckLabels(const ModelOptions& options, BatchSeq seq,
                         absl::Span<const int64_t> labels) {
  for (const int64_t label : labels) {
    if (label < 0 || label >= int64_t{options.num_classes}) {
      return absl::InvalidArgumentError(
          absl::StrCat("batch ", seq.value(), " has a seed with label ", label,
                       "; labels are in [0, ", options.num_classes, ")"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTargets(const ModelOptions& options, BatchSeq seq,
                          absl::Span<const float> targets) {
  const bool sets = options.objective == Objective::kLabelSets;
  const auto is_sound = [sets](float target) {
    return sets ? target == 0 || target == 1 : std::isfinite(target);
  };
  const auto wrong = std::find_if_not(targets.begin(), targets.end(), is_sound);
  if (wrong == targets.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "batch ", seq.value(), " has a seed with target ", *wrong,
      sets ? "; a class is there, 1, or not, 0" : "; targets are finite"));
}

}  // namespace

absl::Status CheckAnswers(const ModelOptions& options, BatchSeq seq,
                          size_t num_seeds, const SeedAnswersView& answers) {
  const size_t num_labels =
      options.objective == Objective::kClasses ? num_seeds : 0;
  const size_t num_targets =
      options.has_targets() ? num_seeds * options.num_classes : 0;
  if (answers.labels.size() != num_labels ||
      answers.targets.size() != num_targets) {
    return absl::InvalidArgumentError(absl::StrCat(
        "batch ", seq.value(), " has ", num_seeds, " seeds, ",
        answers.labels.size(), " labels and ", answers.targets.size(),
        " targets; the model takes ", num_labels, " and ", num_targets));
  }
  FGNN_RETURN_IF_ERROR(CheckLabels(options, seq, answers.labels));
  return CheckTargets(options, seq, answers.targets);
}

absl::Status CheckShape(const ModelOptions& options, uint64_t num_parameters,
                        const BatchShape& shape) {
  if (shape.weights != num_parameters || shape.gradients != num_parameters) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the model has ", num_parameters, " parameters; got ", shape.weights,
        " weights and room for ", shape.gradients, " gradients"));
  }
  if (shape.hops != options.layers) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch ", shape.seq.value(), " has ", shape.hops,
                     " hops; the model has ", options.layers, " layers"));
  }
  // Pairs are seeds of the task: one without seeds has none.
  const bool has_pairs = options.predicts_links() && shape.seeds > 0;
  if (has_pairs == (shape.pairs > 0)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "batch ", shape.seq.value(), " has ", shape.pairs,
      " pairs; the model predicts ",
      options.predicts_links() ? "links" : "classes or targets of vertices"));
}

absl::Status CheckBatch(const Model& model, absl::Span<const float> weights,
                        const TrainingBatch& batch,
                        absl::Span<float> gradient) {
  const ModelOptions& options = model.options();
  const TaskView& task = *batch.task;
  FGNN_RETURN_IF_ERROR(CheckShape(options, model.num_parameters(),
                                  {.seq = task.seq,
                                   .weights = weights.size(),
                                   .gradients = gradient.size(),
                                   .hops = static_cast<size_t>(task.num_hops),
                                   .seeds = task.num_seeds,
                                   .pairs = task.num_pairs()}));
  FGNN_RETURN_IF_ERROR(CheckFeatures(options, batch));
  if (options.divides_by_degrees()) {
    for (const uint32_t v : task.input_nodes) {
      if (size_t{v} + 1 < batch.indptr.size()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("batch ", task.seq.value(), " has input node ", v,
                       "; the degrees of ",
                       batch.indptr.empty() ? 0 : batch.indptr.size() - 1,
                       " vertices are known"));
    }
  }
  return CheckAnswers(options, task.seq, task.num_seeds,
                      {.labels = batch.labels, .targets = batch.targets});
}

BatchResult LearnNothing(absl::Span<float> gradient) {
  std::fill(gradient.begin(), gradient.end(), 0.0F);
  return {};
}

}  // namespace fgnn
