// A dataset's graph as METIS takes it. Private to metis_parts.cc.
#ifndef FGNN_SHARED_GRAPH_BOOK_MAKING_UNDIRECTED_GRAPH_H_
#define FGNN_SHARED_GRAPH_BOOK_MAKING_UNDIRECTED_GRAPH_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// The neighbours of v, those of both directions, are entries[begins[v] ..
// begins[v + 1]): ascending, each once, and never v. (METIS corrupts memory on
// other lists.)
struct UndirectedGraph {
  std::vector<int32_t> begins;   // [N + 1]
  std::vector<int32_t> entries;  // [begins[N]]
  uint64_t num_entries = 0;
};

// Returns most bytes that MakeUndirected() takes, and leaves.
uint64_t UndirectedBytes(const CscView& graph);

// Keeps the first `most_entries`, which is below 2^31, and counts the others.
// InvalidArgument: the graph has changed; the error names file and element
// where one element shows it.
absl::StatusOr<UndirectedGraph> MakeUndirected(const CscView& graph,
                                               uint64_t most_entries);

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_BOOK_MAKING_UNDIRECTED_GRAPH_H_
