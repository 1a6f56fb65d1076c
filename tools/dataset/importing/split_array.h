// Reads the vertices of a split from an array: a list of them, or a mask.
#ifndef FGNN_TOOLS_DATASET_IMPORTING_SPLIT_ARRAY_H_
#define FGNN_TOOLS_DATASET_IMPORTING_SPLIT_ARRAY_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/dataset/reading/array_stream.h"

namespace fgnn {

// Returns the global ids that an array of a split names. A list holds a vertex
// in each element. A mask holds a flag for each vertex, and is an array of bool
// or of a name that ends with "_mask".
//   InvalidArgument  a mask is not [num_nodes] or [num_nodes, 1] of 0 and 1, or
//                    a list names a vertex twice. The message has the array's
//                    name, shape and type, and what is expected.
// Ids of a list may be beyond the graph; the caller checks that.
absl::StatusOr<std::vector<int64_t>> ReadSplit(ArrayStream array,
                                               std::string_view name,
                                               uint64_t num_nodes);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_IMPORTING_SPLIT_ARRAY_H_
