#include "trainer_service/nn/check_batch.h"

#include <algorithm>
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
      absl::StrCat("batch ", batch.task->seq, " has ", nodes,
                   " input nodes of ", options.input_columns, " columns; got ",
                   floats, " features and ", rows, " stored rows"));
}

}  // namespace

absl::Status CheckBatch(const Model& model, absl::Span<const float> weights,
                        const TrainingBatch& batch,
                        absl::Span<float> gradient) {
  const ModelOptions& options = model.options();
  const uint64_t num_parameters = model.num_parameters();
  const TaskView& task = *batch.task;
  if (weights.size() != num_parameters || gradient.size() != num_parameters) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the model has ", num_parameters, " parameters; got ", weights.size(),
        " weights and room for ", gradient.size(), " gradients"));
  }
  if (task.num_hops != static_cast<int>(options.layers)) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch ", task.seq, " has ", task.num_hops,
                     " hops; the model has ", options.layers, " layers"));
  }
  FGNN_RETURN_IF_ERROR(CheckFeatures(options, batch));
  if (options.divides_by_degrees()) {
    for (const uint32_t v : task.input_nodes) {
      if (size_t{v} + 1 < batch.indptr.size()) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "batch ", task.seq, " has input node ", v, "; the degrees of ",
          batch.indptr.empty() ? 0 : batch.indptr.size() - 1,
          " vertices are known"));
    }
  }
  // Pairs are seeds of the task: one without seeds has none.
  const bool has_pairs = options.predicts_links && task.num_seeds > 0;
  if (has_pairs == task.pairs.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch ", task.seq, " has ", task.num_pairs(),
                     " pairs; the model predicts ",
                     options.predicts_links ? "links" : "classes of vertices"));
  }
  if (options.predicts_links && batch.labels.empty()) return absl::OkStatus();
  if (batch.labels.size() != task.num_seeds) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch ", task.seq, " has ", task.num_seeds, " seeds and ",
                     batch.labels.size(), " labels"));
  }
  for (const int64_t label : batch.labels) {
    if (label < 0 || label >= int64_t{options.num_classes}) {
      return absl::InvalidArgumentError(
          absl::StrCat("batch ", task.seq, " has a seed with label ", label,
                       "; labels are in [0, ", options.num_classes, ")"));
    }
  }
  return absl::OkStatus();
}

BatchResult LearnNothing(absl::Span<float> gradient) {
  std::fill(gradient.begin(), gradient.end(), 0.0F);
  return {};
}

}  // namespace fgnn
