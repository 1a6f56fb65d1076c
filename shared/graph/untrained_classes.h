// Classes that a dataset's splits leave out.
#ifndef FGNN_SHARED_GRAPH_UNTRAINED_CLASSES_H_
#define FGNN_SHARED_GRAPH_UNTRAINED_CLASSES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/graph/dataset.h"

namespace fgnn {

// Classes in [0, num_classes) of which train.npy names no vertex, ascending: a
// model cannot learn them. None without train vertices. Reads the labels of the
// train vertices, which have to be validated (Validation::kStructure).
std::vector<uint32_t> FindUntrainedClasses(const Dataset& dataset);

// A line for people that names them, and how many vertices of valid.npy and
// test.npy are of them; nullopt: there are none.
std::optional<std::string> UntrainedClassesWarning(const Dataset& dataset);

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_UNTRAINED_CLASSES_H_
