#include "shared/graph/book/making/undirected_graph.h"

#include <algorithm>
#include <utility>

#include "shared/base/status.h"
#include "shared/base/types.h"
#include "shared/graph/edge_lists.h"

namespace fgnn {
namespace {

// The out-neighbours of u are ids[begins[u] .. begins[u + 1]), ascending.
struct OutLists {
  std::vector<uint64_t> begins;  // [N + 1]
  std::vector<GlobalId> ids;     // [E]
};

absl::StatusOr<OutLists> Transpose(const CscView& graph) {
  OutLists out;
  out.begins.resize(graph.num_nodes() + 1);
  FGNN_RETURN_IF_ERROR(ForEachSource(graph,
                                     {.begin = 0, .degree = graph.num_edges()},
                                     [&](GlobalId u) { ++out.begins[u + 1]; }));
  for (uint64_t u = 0; u < graph.num_nodes(); ++u) {
    out.begins[u + 1] += out.begins[u];
  }
  out.ids.resize(graph.num_edges());
  // Begins move to the ends, which are the begins of the next lists.
  bool has_room = true;
  for (uint64_t v = 0; v < graph.num_nodes(); ++v) {
    FGNN_ASSIGN_OR_RETURN(const EdgeList list, ReadEdgeList(graph, v));
    FGNN_RETURN_IF_ERROR(ForEachSource(graph, list, [&](GlobalId u) {
      has_room = has_room && out.begins[u] < out.ids.size();
      if (has_room) out.ids[out.begins[u]++] = static_cast<GlobalId>(v);
    }));
  }
  std::rotate(out.begins.begin(), out.begins.end() - 1, out.begins.end());
  out.begins[0] = 0;
  if (!has_room || !std::is_sorted(out.begins.begin(), out.begins.end())) {
    return absl::InvalidArgumentError(
        "the graph changed while it was read; begin again");
  }
  return out;
}

}  // namespace

uint64_t UndirectedBytes(const CscView& graph) {
  return 12 * graph.num_edges() + 12 * graph.num_nodes();
}

absl::StatusOr<UndirectedGraph> MakeUndirected(const CscView& graph,
                                               uint64_t most_entries) {
  FGNN_ASSIGN_OR_RETURN(const OutLists out, Transpose(graph));
  UndirectedGraph undirected;
  undirected.begins.resize(graph.num_nodes() + 1);
  undirected.entries.reserve(std::min(most_entries, 2 * graph.num_edges()));
  std::vector<GlobalId> ids;
  for (uint64_t v = 0; v < graph.num_nodes(); ++v) {
    FGNN_ASSIGN_OR_RETURN(const EdgeList list, ReadEdgeList(graph, v));
    ids.assign(out.ids.begin() + static_cast<int64_t>(out.begins[v]),
               out.ids.begin() + static_cast<int64_t>(out.begins[v + 1]));
    FGNN_RETURN_IF_ERROR(
        ForEachSource(graph, list, [&](GlobalId u) { ids.push_back(u); }));
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    std::erase(ids, static_cast<GlobalId>(v));
    undirected.num_entries += ids.size();
    if (undirected.num_entries > most_entries) continue;
    undirected.entries.insert(undirected.entries.end(), ids.begin(), ids.end());
    undirected.begins[v + 1] = static_cast<int32_t>(undirected.entries.size());
  }
  undirected.entries.shrink_to_fit();
  return undirected;
}

}  // namespace fgnn
