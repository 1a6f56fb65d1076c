#include "shared/graph/edge_lists.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "shared/graph/array_places.h"

namespace fgnn {
namespace {

std::string NoVertex(const CscView& graph) {
  return absl::StrCat("but the graph has ", graph.num_nodes(), " vertices");
}

}  // namespace

absl::Status ChangedList(const CscView& graph, uint64_t v, EdgeOffset begin,
                         EdgeOffset end) {
  const bool is_begin =
      begin < 0 || static_cast<uint64_t>(begin) > graph.num_edges();
  const uint64_t place = is_begin ? v : v + 1;
  std::string reason = absl::StrCat("but the offsets of edges rise from 0 to ",
                                    graph.num_edges());
  if (!is_begin) absl::StrAppend(&reason, ", and the one before is ", begin);
  return ChangedElement(graph.places, &graph.indptr[place],
                        absl::StrCat("csc_indptr.npy: element ", place),
                        is_begin ? begin : end, reason);
}

absl::Status ChangedIndex(const CscView& graph, uint64_t place,
                          uint64_t index) {
  return std::visit(
      [&](const auto& indices) {
        return ChangedElement(graph.places, &indices[place],
                              absl::StrCat("indices.npy: element ", place),
                              static_cast<int64_t>(index), NoVertex(graph));
      },
      graph.indices);
}

absl::Status FindChangedList(const CscView& graph) {
  for (uint64_t v = 0; v < graph.num_nodes(); ++v) {
    const absl::StatusOr<EdgeList> list = ReadEdgeList(graph, v);
    if (!list.ok()) return list.status();
  }
  return ChangedDataset(
      "csc_indptr.npy fell, or left the edges, when it was read");
}

absl::Status FindChangedIndex(const CscView& graph, uint64_t index) {
  const EdgeList all = {.begin = 0, .degree = graph.num_edges()};
  const absl::Status found = ForEachSource(graph, all, [](GlobalId) {});
  if (!found.ok()) return found;
  return ChangedDataset(absl::StrCat("indices.npy had an element of ",
                                     static_cast<int64_t>(index), ", ",
                                     NoVertex(graph)));
}

}  // namespace fgnn
