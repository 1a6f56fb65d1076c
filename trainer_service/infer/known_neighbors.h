// Vertices that an edge joins to some vertices. Private to this folder.
#ifndef FGNN_TRAINER_SERVICE_INFER_KNOWN_NEIGHBORS_H_
#define FGNN_TRAINER_SERVICE_INFER_KNOWN_NEIGHBORS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// Immutable; any thread. Holds a word for each vertex of the graph and one for
// each out-edge of the chosen vertices.
class KnownNeighbors {
 public:
  // Borrows the graph. Two passes over its edges. std::bad_alloc.
  // InvalidArgument: the graph has changed.
  static absl::StatusOr<KnownNeighbors> Find(const CscView* graph,
                                             absl::Span<const GlobalId> chosen);

  // Returns v and its neighbours, whichever way the edges go: rising, each
  // once. `v` is one of the chosen vertices. InvalidArgument as above.
  absl::StatusOr<std::vector<GlobalId>> Of(GlobalId v) const;

 private:
  explicit KnownNeighbors(const CscView* graph);
  // Calls visit(slot of u, v) for each edge from a chosen vertex u to v.
  template <typename Visit>
  absl::Status ForEachOutEdge(const Visit& visit) const;

  const CscView& graph_;
  std::vector<uint32_t> slots_;   // [N] Places of the chosen vertices.
  std::vector<uint64_t> starts_;  // [slots + 1] Places in destinations_.
  std::vector<GlobalId> destinations_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_KNOWN_NEIGHBORS_H_
