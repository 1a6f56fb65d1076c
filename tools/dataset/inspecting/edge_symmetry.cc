#include "tools/dataset/inspecting/edge_symmetry.h"

#include <cstdint>
#include <variant>

#include "absl/types/span.h"
#include "shared/base/philox.h"
#include "shared/base/status.h"
#include "shared/graph/npy.h"

namespace fgnn {
namespace {

// Returns the sum of a hash of each edge's ends, regardless of their order: the
// hash is added for an edge from the lower end, and subtracted for an edge from
// the higher end. The two directions of a pair cancel out.
template <typename T>
uint64_t SumOfDirections(absl::Span<const EdgeOffset> indptr,
                         absl::Span<const T> indices) {
  uint64_t sum = 0;
  for (uint64_t v = 0; v + 1 < indptr.size(); ++v) {
    const auto begin = static_cast<size_t>(indptr[v]);
    const auto end = static_cast<size_t>(indptr[v + 1]);
    for (size_t e = begin; e < end; ++e) {
      if (e > begin && indices[e] == indices[e - 1]) continue;
      const auto u = static_cast<uint64_t>(indices[e]);
      if (u < v) sum += Mix64(u << 32 | v);
      if (u > v) sum -= Mix64(v << 32 | u);
    }
  }
  return sum;
}

}  // namespace

bool IsSymmetric(const CscView& graph) {
  return std::visit(
             [&graph](auto indices) {
               return SumOfDirections(graph.indptr, indices);
             },
             graph.indices) == 0;
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
