#include "shared/config/objective.h"

namespace fgnn {

std::string_view TaskOf(Objective objective) {
  switch (objective) {
    case Objective::kClasses:
      return "node_classification";
    case Objective::kLinks:
      return "link_prediction";
    case Objective::kValues:
      return "node_regression";
    case Objective::kLabelSets:
      return "multi_label_classification";
  }
  return "";
}

std::optional<Objective> ObjectiveOf(std::string_view task) {
  for (const Objective objective :
       {Objective::kClasses, Objective::kLinks, Objective::kValues,
        Objective::kLabelSets}) {
    if (TaskOf(objective) == task) return objective;
  }
  return std::nullopt;
}

}  // namespace fgnn
