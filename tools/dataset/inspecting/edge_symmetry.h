// Finds out whether the edges of a graph have a direction.
#ifndef FGNN_TOOLS_DATASET_INSPECTING_EDGE_SYMMETRY_H_
#define FGNN_TOOLS_DATASET_INSPECTING_EDGE_SYMMETRY_H_

#include <filesystem>

#include "absl/status/statusor.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// Returns true if the reverse of every edge is there too. A self-loop is its
// own reverse. Weights do not count. Where lists of in-neighbours ascend, equal
// edges count as one. In other lists the reverse must be there as often.
//
// One pass in the order of the lists, without memory of its own. A checksum of
// 64 bits decides: one in 2^64 graphs with directions is taken for symmetric.
// InvalidArgument, naming file and element: an offset or index is out of range.
absl::StatusOr<bool> IsSymmetric(const CscView& graph);

// The same for the arrays that a CscBuilder wrote into `folder`. Errors: those
// of NpyArray::Open().
absl::StatusOr<bool> IsSymmetric(const std::filesystem::path& folder);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_INSPECTING_EDGE_SYMMETRY_H_
