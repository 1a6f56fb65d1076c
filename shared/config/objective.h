// What a model learns.
#ifndef FGNN_SHARED_CONFIG_OBJECTIVE_H_
#define FGNN_SHARED_CONFIG_OBJECTIVE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace fgnn {

enum class Objective : uint8_t {
  kClasses,    // The class of a vertex.
  kLinks,      // The vertices that an edge joins.
  kValues,     // Numbers of a vertex, one per column.
  kLabelSets,  // The classes of a vertex, any number of them.
};

// Returns the word of training.task, as job.yaml and checkpoints have it.
std::string_view TaskOf(Objective objective);
// Returns the objective of a training.task; nullopt: there is no such task.
std::optional<Objective> ObjectiveOf(std::string_view task);

// Returns whether vertices have targets, which are rows of targets.npy, instead
// of labels.
inline bool HasTargets(Objective objective) {
  return objective == Objective::kValues || objective == Objective::kLabelSets;
}

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_OBJECTIVE_H_
