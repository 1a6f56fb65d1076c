#include "shared/config/rules/model_rules.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace fgnn {

absl::Status CheckModelKind(const ModelTraits& model) {
  if (model.kind == "pinsage" &&
      (model.residual || model.normalization != "none")) {
    return absl::InvalidArgumentError(
        "model.kind pinsage scales its layers' rows to length 1 and has no "
        "model.normalization or residual; leave them out");
  }
  if (model.kind == "gat" && model.hidden % model.heads != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model.hidden is ", model.hidden, ", which model.heads ", model.heads,
        " does not divide; each head makes as many columns"));
  }
  return absl::OkStatus();
}

absl::Status CheckGpusTrain(std::string_view kind) {
  if (!IsUsersKind(kind)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "model.kind ", std::string(kind),
      " trains on cores of the host alone; name no GPU in devices, e.g. "
      "[cpu:0-7]"));
}

absl::Status CheckPredictsLinks(std::string_view kind) {
  if (kind == "graphsage") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("training.task is link_prediction, which model.kind ",
                   std::string(kind), " does not learn; use graphsage"));
}

}  // namespace fgnn
