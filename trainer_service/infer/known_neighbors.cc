#include "trainer_service/infer/known_neighbors.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "shared/base/status.h"
#include "shared/graph/array_places.h"
#include "shared/graph/edge_lists.h"
#include "trainer_service/infer/inference_arrays.h"

namespace fgnn {
namespace {

constexpr uint32_t kNotChosen = std::numeric_limits<uint32_t>::max();

}  // namespace

KnownNeighbors::KnownNeighbors(const CscView* graph)
    : graph_(*graph), slots_(graph->num_nodes(), kNotChosen) {}

template <typename Visit>
absl::Status KnownNeighbors::ForEachOutEdge(const Visit& visit) const {
  for (uint64_t v = 0; v < graph_.num_nodes(); ++v) {
    const auto destination = static_cast<GlobalId>(v);
    FGNN_RETURN_IF_ERROR(ForEachNeighbor(graph_, destination, [&](GlobalId u) {
      if (slots_[u] != kNotChosen) visit(slots_[u], destination);
    }));
  }
  return absl::OkStatus();
}

absl::StatusOr<KnownNeighbors> KnownNeighbors::Find(
    const CscView* graph, absl::Span<const GlobalId> chosen) {
  KnownNeighbors known(graph);
  uint32_t num_slots = 0;
  for (const GlobalId v : chosen) {
    if (known.slots_[v] == kNotChosen) known.slots_[v] = num_slots++;
  }
  std::vector<uint64_t>& starts = known.starts_;
  starts.resize(num_slots + size_t{1});
  FGNN_RETURN_IF_ERROR(known.ForEachOutEdge(
      [&starts](uint32_t slot, GlobalId) { ++starts[slot + 1]; }));
  for (size_t slot = 0; slot < num_slots; ++slot) {
    starts[slot + 1] += starts[slot];
  }
  known.destinations_.resize(starts.back());
  std::vector<uint64_t> next(starts.begin(), starts.end() - 1);
  bool has_more = false;
  FGNN_RETURN_IF_ERROR(known.ForEachOutEdge([&](uint32_t slot, GlobalId v) {
    if (next[slot] == starts[slot + 1]) {
      has_more = true;
    } else {
      known.destinations_[next[slot]++] = v;
    }
  }));
  if (!has_more) return known;
  return ChangedDataset(
      "indices.npy has more edges from a vertex than a moment before");
}

absl::StatusOr<std::vector<GlobalId>> KnownNeighbors::Of(GlobalId v) const {
  const uint32_t slot = slots_[v];
  std::vector<GlobalId> known(
      destinations_.begin() + static_cast<ptrdiff_t>(starts_[slot]),
      destinations_.begin() + static_cast<ptrdiff_t>(starts_[slot + 1]));
  known.push_back(v);
  FGNN_RETURN_IF_ERROR(
      ForEachNeighbor(graph_, v, [&known](GlobalId u) { known.push_back(u); }));
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  return known;
}

}  // namespace fgnn
