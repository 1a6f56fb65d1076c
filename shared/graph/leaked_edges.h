// Finds validation and test edges that link prediction is trained on.
#ifndef FGNN_SHARED_GRAPH_LEAKED_EDGES_H_
#define FGNN_SHARED_GRAPH_LEAKED_EDGES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/graph/dataset.h"

namespace fgnn {

struct LeakedEdges {
  uint64_t num_valid = 0;  // Number of edges of valid_edges.npy.
  uint64_t num_test = 0;   // Number of edges of test_edges.npy.
};

// Counts the edges of valid_edges.npy and test_edges.npy that are in the graph
// or in train_edges.npy, themselves or reversed. InvalidArgument, naming file
// and element: an end or an offset is out of range. Takes one pass over the
// training edges for each 2^24 edges of a file, and at most 260 MiB of memory.
// Calls `check` now and then, and returns its error.
absl::StatusOr<LeakedEdges> CountLeakedEdges(
    const Dataset& dataset,
    absl::FunctionRef<absl::Status()> check = absl::OkStatus);

// Returns a line for people that counts them. nullopt: there are none.
absl::StatusOr<std::optional<std::string>> LeakedEdgesWarning(
    const Dataset& dataset,
    absl::FunctionRef<absl::Status()> check = absl::OkStatus);

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_LEAKED_EDGES_H_
