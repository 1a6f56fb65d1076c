#include "shared/config/rules/user_code_rules.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/config/rules/model_rules.h"

namespace fgnn {

absl::Status CheckNamed(const NamedKind& named) {
  if ((named.kind == named.needed_by) != named.value.empty()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      named.value.empty()
          ? absl::StrCat(named.field, " is missing; name ", named.what)
          : absl::StrCat(named.field, " is '", named.value, "', but ",
                         named.kind_field, " is ", named.kind, "; make it ",
                         named.needed_by));
}

absl::Status CheckUserModel(const v1::JobSpec& spec) {
  const v1::ModelSpec& model = spec.model();
  FGNN_RETURN_IF_ERROR(CheckNamed({"model.plugin", model.plugin(), "model.kind",
                                   model.kind(), "plugin", "the plugin"}));
  const bool is_python = model.kind() == "python";
  // Either kind may be the one that was meant.
  const bool has_python = is_python || absl::EndsWith(model.file(), ".py");
  FGNN_RETURN_IF_ERROR(
      CheckNamed({"model.file", model.file(), "model.kind", model.kind(),
                  has_python ? "python" : "torchscript",
                  has_python ? "the file with the model's class"
                             : "the TorchScript file"}));
  FGNN_RETURN_IF_ERROR(
      CheckNamed({"model.class_name", model.class_name(), "model.kind",
                  model.kind(), "python", "the model's class"}));
  if (!is_python && !model.python().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model.python is '", model.python(), "', but model.kind is ",
        model.kind(), ", which needs no interpreter; leave it out"));
  }
  if (!IsUsersKind(model.kind())) return absl::OkStatus();
  if (spec.training().precision() != "f32") {
    return absl::InvalidArgumentError(absl::StrCat(
        "training.precision is ", spec.training().precision(),
        ", but model.kind ", model.kind(), " trains in f32; use f32"));
  }
  const char* const ours =
      model.normalization() != "none"                         ? "normalization"
      : model.residual()                                      ? "residual"
      : model.kind() != "plugin" && model.input_dropout() > 0 ? "input_dropout"
                                                              : nullptr;
  if (ours == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "model.", ours,
      " is for the models that FGNN has, but "
      "model.kind is ",
      model.kind(), ", whose layers do that themselves; leave it out"));
}

}  // namespace fgnn
