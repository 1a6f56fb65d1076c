// How far down a rank order a trainer looks for vertices of its own parts.
#ifndef FGNN_SHARED_GRAPH_BOOK_HOME_RANKS_H_
#define FGNN_SHARED_GRAPH_BOOK_HOME_RANKS_H_

#include <algorithm>
#include <cstdint>

namespace fgnn {

// Returns the number of ranks among which one of `homes` homes finds the
// vertices of `rows` rows to cache. On average it finds them in half of these
// ranks: a home may have half of its share of what is hot. A trainer keeps 4
// bytes for each of these ranks.
constexpr uint64_t RanksForHome(uint64_t num_nodes, uint64_t homes,
                                uint64_t rows) {
  return rows < num_nodes / (2 * homes) ? 2 * homes * rows : num_nodes;
}

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_BOOK_HOME_RANKS_H_
