// Reads of the adjacency lists of a graph that may change meanwhile. Each
// number is read once, then checked, then used.
#ifndef FGNN_SHARED_GRAPH_EDGE_LISTS_H_
#define FGNN_SHARED_GRAPH_EDGE_LISTS_H_

#include <algorithm>
#include <cstdint>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/read_once.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// The places of a vertex's in-edges in the array of indices: [begin, begin +
// degree), none of them beyond the array.
struct EdgeList {
  uint64_t begin = 0;
  uint64_t degree = 0;
};

// Return the error of a list that falls or leaves the array, and of an index
// that is no vertex: InvalidArgument, naming file and element.
absl::Status ChangedList(const CscView& graph, uint64_t v, EdgeOffset begin,
                         EdgeOffset end);
absl::Status ChangedIndex(const CscView& graph, uint64_t place, uint64_t index);
// Return the same errors for a loop that has noted no place: they search the
// arrays for the first bad element. `index`: the value that was read.
absl::Status FindChangedList(const CscView& graph);
absl::Status FindChangedIndex(const CscView& graph, uint64_t index);
// Checks the largest index that a loop has read; a negative index is huge.
inline absl::Status CheckLargestIndex(const CscView& graph, uint64_t largest) {
  return largest < graph.num_nodes() ? absl::OkStatus()
                                     : FindChangedIndex(graph, largest);
}

// Reads the list of v, which is below num_nodes. Errors: ChangedList().
inline absl::StatusOr<EdgeList> ReadEdgeList(const CscView& graph, uint64_t v) {
  const EdgeOffset begin = ReadOnce(graph.indptr[v]);
  const EdgeOffset end = ReadOnce(graph.indptr[v + 1]);
  if (begin < 0 || end < begin ||
      static_cast<uint64_t>(end) > graph.num_edges()) {
    return ChangedList(graph, v, begin, end);
  }
  return EdgeList{static_cast<uint64_t>(begin),
                  static_cast<uint64_t>(end - begin)};
}

// Returns the number of in-edges of v for estimates: never more than the graph
// has edges, and 0 for a list that falls.
inline uint64_t DegreeOf(const CscView& graph, uint64_t v) {
  const EdgeOffset begin = ReadOnce(graph.indptr[v]);
  const EdgeOffset end = ReadOnce(graph.indptr[v + 1]);
  if (begin < 0 || end < begin) return 0;
  return std::min(static_cast<uint64_t>(end - begin), graph.num_edges());
}

// Calls visit(u) for every source u of a list, which is below num_nodes. Ends
// with ChangedIndex() at the first index that is no vertex.
template <typename Visit>
absl::Status ForEachSource(const CscView& graph, const EdgeList& list,
                           const Visit& visit) {
  const uint64_t num_nodes = graph.num_nodes();
  return std::visit(
      [&](const auto& indices) -> absl::Status {
        const auto* const sources = indices.data() + list.begin;
        for (uint64_t i = 0; i < list.degree; ++i) {
          const auto u = static_cast<uint64_t>(ReadOnce(sources[i]));
          if (u >= num_nodes) return ChangedIndex(graph, list.begin + i, u);
          visit(static_cast<GlobalId>(u));
        }
        return absl::OkStatus();
      },
      graph.indices);
}

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_EDGE_LISTS_H_
