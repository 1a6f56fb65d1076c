#include "trainer_service/commands/predict_flags.h"

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

absl::Status CheckTopK(const PredictOptions& options, PredictionKind kind,
                       const ModelOptions& model) {
  if (!options.top_k.has_value()) return absl::OkStatus();
  if (kind != PredictionKind::kClasses) {
    return absl::InvalidArgumentError(
        absl::StrCat("--top-k is for --what classes; leave it out with --what ",
                     options.what));
  }
  if (*options.top_k >= 1 && *options.top_k <= model.num_classes) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--top-k ", *options.top_k, ": the model has ", model.num_classes,
      " classes; choose a number in [1, ", model.num_classes, "]"));
}

}  // namespace

absl::Status CheckPredictFlags(const PredictOptions& options,
                               PredictionKind kind, const ModelOptions& model) {
  FGNN_RETURN_IF_ERROR(CheckPrediction(model, kind));
  return CheckTopK(options, kind, model);
}

}  // namespace fgnn
