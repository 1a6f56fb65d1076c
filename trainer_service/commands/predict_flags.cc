#include "trainer_service/commands/predict_flags.h"

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

absl::Status CheckTopK(const PredictOptions& options, PredictionKind kind,
                       const ModelOptions& model) {
  if (!options.top_k.has_value()) return absl::OkStatus();
  if (kind == PredictionKind::kNeighbours) {
    if (*options.top_k >= 1) return absl::OkStatus();
    return absl::InvalidArgumentError("--top-k 0: choose 1 or more");
  }
  if (model.has_targets()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--top-k is for classes of which a vertex has one, and for --what "
        "neighbours; leave it out with a model of ",
        std::string(TaskOf(model.objective))));
  }
  if (kind != PredictionKind::kClasses) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--top-k is for --what classes and --what neighbours; leave it out "
        "with --what ",
        WordOf(kind)));
  }
  if (*options.top_k >= 1 && *options.top_k <= model.num_classes) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--top-k ", *options.top_k, ": the model has ", model.num_classes,
      " classes; choose a number in [1, ", model.num_classes, "]"));
}

absl::Status CheckFiles(const PredictOptions& options, PredictionKind kind) {
  const bool scores = kind == PredictionKind::kScores;
  if (scores && options.pairs.empty()) {
    return absl::InvalidArgumentError(
        "--what scores is of pairs of vertices; name a file with two ids on "
        "each line with --pairs");
  }
  if (!scores && !options.pairs.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--pairs is for --what scores; leave it out with --what ",
                     WordOf(kind)));
  }
  if (scores && !options.vertices.empty()) {
    return absl::InvalidArgumentError(
        "--vertices is not for --what scores, whose vertices are those of "
        "--pairs; leave it out");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPredictFlags(const PredictOptions& options,
                               PredictionKind kind, const ModelOptions& model) {
  FGNN_RETURN_IF_ERROR(CheckPrediction(model, kind));
  FGNN_RETURN_IF_ERROR(CheckFiles(options, kind));
  return CheckTopK(options, kind, model);
}

}  // namespace fgnn
