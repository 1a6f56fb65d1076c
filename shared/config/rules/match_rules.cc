#include "shared/config/rules/match_rules.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace fgnn {

std::string WhyFeaturesChange(const std::string& model_kind,
                              double input_dropout) {
  // A model of kind python is given a copy.
  if (model_kind == "plugin" || model_kind == "torchscript") {
    return "a model of your own may change a batch's features in place";
  }
  if (input_dropout > 0) {
    return "model.input_dropout changes a batch's features in place";
  }
  return "";
}

MatchChoice ChooseMatch(const JobSpec& spec, bool are_loaded) {
  const std::string& match = spec.features.match;
  if (match != "auto") {
    return {.matches = match != "off",
            .looks_ahead = match == "window",
            .reason = "the job says so"};
  }
  if (!are_loaded) return {.reason = "features are in memory"};
  const std::string why =
      WhyFeaturesChange(spec.model.kind, spec.model.input_dropout);
  if (!why.empty()) return {.reason = why};
  const bool has_gpu = std::any_of(
      spec.devices.begin(), spec.devices.end(),
      [](const Device& device) { return device.kind == DeviceKind::kCuda; });
  // One trainer has all batches to itself. Several share a cache instead. An
  // order that is matched is one for Match.
  return {.matches = true,
          .looks_ahead = spec.cache.policy != "none" &&
                         spec.num_trainers() == 1 && spec.training.parts <= 1 &&
                         spec.sampling.order != "matched" && !has_gpu,
          .reason = "features are not all in memory"};
}

std::string Describe(const MatchChoice& match) {
  const char* const what =
      match.looks_ahead
          ? "rows of the batch before are copied, and a part of the cache "
            "keeps rows that the next batches need, unless the model reads "
            "rows where they lie"
      : match.matches
          ? "rows of the batch before are copied, unless the model reads them "
            "where they lie"
          : "rows of the batch before are loaded again";
  return absl::StrCat(what, ": ", match.reason);
}

}  // namespace fgnn
