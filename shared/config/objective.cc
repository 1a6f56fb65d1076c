#include "shared/config/objective.h"

#include "shared/base/enum_words.h"

namespace fgnn {
namespace {

constexpr EnumWord<Objective> kTasks[] = {
    {Objective::kClasses, "node_classification"},
    {Objective::kLinks, "link_prediction"},
    {Objective::kValues, "node_regression"},
    {Objective::kLabelSets, "multi_label_classification"}};

}  // namespace

std::string_view TaskOf(Objective objective) {
  return WordIn(kTasks, objective, "");
}

std::optional<Objective> ObjectiveOf(std::string_view task) {
  return ValueIn(kTasks, task);
}

}  // namespace fgnn
