#include "trainer_service/infer/known_neighbors.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <variant>

namespace fgnn {
namespace {

constexpr uint32_t kNotChosen = std::numeric_limits<uint32_t>::max();

// Calls visit(source) for each in-edge of v.
template <typename Visit>
void ForEachSource(const CscView& graph, GlobalId v, const Visit& visit) {
  const auto begin = static_cast<size_t>(graph.indptr[v]);
  const auto end = static_cast<size_t>(graph.indptr[v + 1]);
  std::visit(
      [&](const auto& indices) {
        for (const auto u : indices.subspan(begin, end - begin)) {
          visit(static_cast<GlobalId>(u));
        }
      },
      graph.indices);
}

}  // namespace

KnownNeighbors::KnownNeighbors(const CscView* graph,
                               absl::Span<const GlobalId> chosen)
    : graph_(*graph), slots_(graph->num_nodes(), kNotChosen) {
  uint32_t num_slots = 0;
  for (const GlobalId v : chosen) {
    if (slots_[v] == kNotChosen) slots_[v] = num_slots++;
  }
  starts_.resize(num_slots + size_t{1});
  const auto for_each_out_edge = [this](const auto& visit) {
    for (uint64_t v = 0; v < graph_.num_nodes(); ++v) {
      ForEachSource(graph_, static_cast<GlobalId>(v), [&](GlobalId u) {
        if (slots_[u] != kNotChosen) visit(slots_[u], static_cast<GlobalId>(v));
      });
    }
  };
  for_each_out_edge([this](uint32_t slot, GlobalId) { ++starts_[slot + 1]; });
  for (size_t slot = 0; slot < num_slots; ++slot) {
    starts_[slot + 1] += starts_[slot];
  }
  destinations_.resize(starts_.back());
  std::vector<uint64_t> next(starts_.begin(), starts_.end() - 1);
  for_each_out_edge(
      [&](uint32_t slot, GlobalId v) { destinations_[next[slot]++] = v; });
}

std::vector<GlobalId> KnownNeighbors::Of(GlobalId v) const {
  const uint32_t slot = slots_[v];
  std::vector<GlobalId> known(
      destinations_.begin() + static_cast<ptrdiff_t>(starts_[slot]),
      destinations_.begin() + static_cast<ptrdiff_t>(starts_[slot + 1]));
  known.push_back(v);
  ForEachSource(graph_, v, [&known](GlobalId u) { known.push_back(u); });
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  return known;
}

}  // namespace fgnn
