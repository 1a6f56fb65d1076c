#include "tools/dataset/inspecting/edge_symmetry.h"

#include <cstdint>

#include "shared/base/philox.h"
#include "shared/base/status.h"
#include "shared/graph/edge_lists.h"
#include "shared/graph/npy.h"

namespace fgnn {
namespace {

// Returns the sum of a hash of each edge's ends, regardless of their order: the
// hash is added for an edge from the lower end, and subtracted for an edge from
// the higher end. The two directions of a pair cancel out.
absl::StatusOr<uint64_t> SumOfDirections(const CscView& graph) {
  uint64_t sum = 0;
  for (uint64_t v = 0; v < graph.num_nodes(); ++v) {
    FGNN_ASSIGN_OR_RETURN(const EdgeList list, ReadEdgeList(graph, v));
    uint64_t before = UINT64_MAX;
    FGNN_RETURN_IF_ERROR(ForEachSource(graph, list, [&](uint64_t u) {
      if (u == before) return;
      before = u;
      if (u < v) sum += Mix64(u << 32 | v);
      if (u > v) sum -= Mix64(v << 32 | u);
    }));
  }
  return sum;
}

}  // namespace

absl::StatusOr<bool> IsSymmetric(const CscView& graph) {
  FGNN_ASSIGN_OR_RETURN(const uint64_t sum, SumOfDirections(graph));
  return sum == 0;
}

absl::StatusOr<bool> IsSymmetric(const std::filesystem::path& folder) {
  FGNN_ASSIGN_OR_RETURN(const NpyArray indptr,
                        NpyArray::Open(folder / "csc_indptr.npy"));
  FGNN_ASSIGN_OR_RETURN(const NpyArray indices,
                        NpyArray::Open(folder / "indices.npy"));
  return IsSymmetric(CscView{.indptr = indptr.As<EdgeOffset>(),
                             .indices = indices.As<uint32_t>()});
}

}  // namespace fgnn
