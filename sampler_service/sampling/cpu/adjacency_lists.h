// The places of the adjacency lists of a batch's vertices.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_ADJACENCY_LISTS_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_ADJACENCY_LISTS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "sampler_service/sampling/progress.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"

namespace fgnn {

struct AdjacencyList {
  EdgeOffset begin;
  uint64_t degree;
};

// indptr is read once for each vertex of a batch, with a constant number of
// reads in flight. Thread-compatible; allocates only when created. Borrows
// the graph's arrays.
class AdjacencyLists {
 public:
  // Makes room for batches in which edges are drawn for at most `max_lists`
  // vertices.
  AdjacencyLists(const CscView& graph, uint64_t max_lists);
  bool has_memory() const { return lists_ != nullptr; }

  // Forgets all vertices.
  void StartBatch() { size_ = 0; }

  // Reads the lists of `nodes`, which begin with the nodes of the batch's last
  // call. InvalidArgument: indptr falls, or leaves the edges.
  absl::Status LookUp(absl::Span<const GlobalId> nodes, Progress* progress);

  // Returns the list of the i-th vertex.
  const AdjacencyList& operator[](uint64_t i) const { return lists_[i]; }

  // Returns the number of edges of the vertices from `first` on, if `fanout`
  // (-1: all) edges are drawn for each. With replacement an empty list gives
  // none.
  uint64_t CountEdges(uint64_t first, int32_t fanout, bool replace) const;

  uint64_t workspace_bytes() const {
    return max_lists_ * sizeof(AdjacencyList);
  }

 private:
  CscView graph_;
  uint64_t max_lists_;
  std::unique_ptr<AdjacencyList[]> lists_;  // [max_lists_]
  uint64_t size_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_ADJACENCY_LISTS_H_
