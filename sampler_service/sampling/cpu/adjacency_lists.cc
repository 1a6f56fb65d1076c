#include "sampler_service/sampling/cpu/adjacency_lists.h"

#include <algorithm>
#include <new>

#include "shared/base/read_once.h"
#include "shared/graph/edge_lists.h"

namespace fgnn {
namespace {

// Number of reads of indptr in flight.
constexpr uint64_t kPrefetchedLists = 32;
constexpr uint64_t kListsPerTick = 128;

}  // namespace

AdjacencyLists::AdjacencyLists(const CscView& graph, uint64_t max_lists)
    : graph_(graph),
      max_lists_(max_lists),
      lists_(new (std::nothrow) AdjacencyList[max_lists]) {}

absl::Status AdjacencyLists::LookUp(absl::Span<const GlobalId> nodes,
                                    Progress* progress) {
  const EdgeOffset* const indptr = graph_.indptr.data();
  const uint64_t num_edges = graph_.num_edges();
  const uint64_t size = nodes.size();
  bool falls = false;
  for (uint64_t i = size_; i < size; ++i) {
    if (i + kPrefetchedLists < size) {
      __builtin_prefetch(&indptr[nodes[i + kPrefetchedLists]]);
    }
    const EdgeOffset begin = ReadOnce(indptr[nodes[i]]);
    const EdgeOffset end = ReadOnce(indptr[nodes[i] + uint64_t{1}]);
    falls |= begin < 0 || end < begin || static_cast<uint64_t>(end) > num_edges;
    // The signed difference may overflow if the list is wrong.
    lists_[i] = {begin,
                 static_cast<uint64_t>(end) - static_cast<uint64_t>(begin)};
    if (i % kListsPerTick == 0) progress->Tick();
  }
  size_ = size;
  return falls ? FindChangedList(graph_) : absl::OkStatus();
}

uint64_t AdjacencyLists::CountEdges(uint64_t first, int32_t fanout,
                                    bool replace) const {
  const auto most = static_cast<uint64_t>(int64_t{fanout});  // -1: no limit.
  const bool repeats = replace && fanout >= 0;
  uint64_t num_edges = 0;
  for (uint64_t i = first; i < size_; ++i) {
    num_edges += std::min(repeats ? 1 : most, lists_[i].degree);
  }
  return repeats ? most * num_edges : num_edges;
}

}  // namespace fgnn
