#include <algorithm>
#include <cassert>

#include "shared/minibatch/task.h"
#include "shared/minibatch/task_layout.h"

namespace fgnn {
namespace {

using task_layout::EndAfter;
using task_layout::SaturatingAdd;
using task_layout::SaturatingMultiply;

uint64_t EndAfterHop(uint64_t end, uint64_t destinations, uint64_t edges,
                     bool with_weights) {
  end = EndAfter(end, SaturatingAdd(destinations, 1), sizeof(uint32_t));
  end = EndAfter(end, edges, sizeof(uint32_t));
  return with_weights ? EndAfter(end, edges, sizeof(float)) : end;
}

uint64_t EndAfterInput(uint64_t end, uint64_t num_input_nodes,
                       bool with_ranks) {
  end = EndAfter(end, num_input_nodes, sizeof(uint32_t));
  return with_ranks ? EndAfter(end, num_input_nodes, sizeof(uint32_t)) : end;
}

}  // namespace

uint64_t TaskBytes(absl::Span<const uint64_t> destinations,
                   absl::Span<const uint64_t> edges, uint64_t num_input_nodes,
                   bool with_weights, bool with_ranks) {
  assert(destinations.size() == edges.size());
  uint64_t end = sizeof(TaskHeader);
  for (size_t hop = 0; hop < destinations.size(); ++hop) {
    end = EndAfterHop(end, destinations[hop], edges[hop], with_weights);
  }
  return EndAfterInput(end, num_input_nodes, with_ranks);
}

uint64_t PartBytes(uint64_t task_bytes, uint32_t num_parts,
                   absl::Span<const SplitLevel> levels) {
  uint64_t end = task_bytes;
  for (size_t h = 0; h < levels.size(); ++h) {
    const SplitLevel& level = levels[h];
    const bool is_last = h + 1 == levels.size();
    end = EndAfter(end, uint64_t{num_parts} * num_parts, sizeof(uint32_t));
    end = EndAfter(end, level.num_sent, sizeof(uint32_t));
    end = EndAfter(end, is_last ? level.num_own : level.num_remote,
                   sizeof(uint32_t));
  }
  return end;
}

uint64_t MaxPartBytes(uint64_t batch_bytes, uint64_t num_input_nodes,
                      uint32_t num_parts, uint32_t num_hops) {
  // indptr, indices, weights, counts, rows to send, and remote nodes or
  // canonical ids of each hop; input nodes and hot ranks.
  const uint64_t num_arrays = uint64_t{6} * num_hops + 2;
  const uint64_t num_counts = uint64_t{num_hops} * num_parts * num_parts;
  return SaturatingAdd(
      batch_bytes,
      SaturatingAdd(SaturatingMultiply(num_input_nodes, sizeof(uint32_t)),
                    num_counts * sizeof(uint32_t) +
                        num_arrays * task_layout::kAlignmentBytes));
}

uint64_t PairBytes(uint64_t num_pairs) {
  return task_layout::Align(
      SaturatingMultiply(num_pairs, 2 * sizeof(uint32_t)));
}

uint64_t MaxTaskBytes(uint64_t batch_size, absl::Span<const int32_t> fanouts,
                      uint64_t num_nodes, uint64_t num_edges,
                      uint64_t max_degree, bool with_weights) {
  uint64_t end = sizeof(TaskHeader);
  uint64_t destinations = std::min(batch_size, num_nodes);
  for (const int32_t fanout : fanouts) {
    const uint64_t degree =
        fanout < 0 ? max_degree
                   : std::min(static_cast<uint64_t>(fanout), max_degree);
    // Destinations are distinct, so a hop takes no edge twice.
    const uint64_t edges =
        std::min(SaturatingMultiply(destinations, degree), num_edges);
    end = EndAfterHop(end, destinations, edges, with_weights);
    destinations = std::min(SaturatingAdd(destinations, edges), num_nodes);
  }
  return EndAfterInput(end, destinations, /*with_ranks=*/true);
}

}  // namespace fgnn
