#include "shared/config/rules/match_rules.h"

#include <utility>

namespace fgnn {

std::string WhyFeaturesChange(const std::string& model_kind,
                              double input_dropout) {
  if (model_kind == "plugin" || model_kind == "torchscript") {
    return "a model of your own may change a batch's features in place";
  }
  if (input_dropout > 0) {
    return "model.input_dropout changes a batch's features in place";
  }
  return "";
}

MatchChoice ChooseMatch(const JobSpec& spec, bool from_disk) {
  const std::string& match = spec.features.match;
  if (match == "on" || match == "off") {
    return {match == "on", "the job says so"};
  }
  std::string why =
      WhyFeaturesChange(spec.model.kind, spec.model.input_dropout);
  if (!from_disk) return {false, "features are in memory"};
  if (!why.empty()) return {false, std::move(why)};
  return {true, "features are read from the disk"};
}

}  // namespace fgnn
