// Finds classes that a dataset's train split leaves out.
#ifndef FGNN_SHARED_GRAPH_UNTRAINED_CLASSES_H_
#define FGNN_SHARED_GRAPH_UNTRAINED_CLASSES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// Returns the classes that no vertex of train.npy has, ascending: of those in
// [0, num_classes), or, where vertices have sets of classes, of the columns of
// the targets. A model cannot learn them. Returns none without train vertices
// or classes. Reads the labels or sets of the train vertices. InvalidArgument,
// naming file and element: a vertex or label is out of range.
absl::StatusOr<std::vector<uint32_t>> FindUntrainedClasses(
    const Dataset& dataset);

// Returns a line for people that names them, and how many vertices of valid.npy
// and test.npy have them. nullopt: there are none. Errors as above.
absl::StatusOr<std::optional<std::string>> UntrainedClassesWarning(
    const Dataset& dataset);

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_UNTRAINED_CLASSES_H_
