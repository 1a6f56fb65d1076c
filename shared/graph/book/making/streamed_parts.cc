#include "shared/graph/book/making/streamed_parts.h"

#include <algorithm>
#include <array>
#include <vector>

#include "shared/base/permutation.h"
#include "shared/base/philox.h"
#include "shared/base/status.h"
#include "shared/graph/edge_lists.h"
#include "shared/graph/host_rows.h"

namespace fgnn {
namespace {

constexpr int kPasses = 4;
// A half may be this much larger than an even one.
constexpr double kSlack = 1.02;
// Node n of the tree has the halves 2n and 2n + 1; part p is node 64 + p.
constexpr uint32_t kNodes = 2 * kFineParts;
constexpr uint8_t kNone = kFineParts;

KeyedPermutation OrderOf(uint64_t num_nodes) {
  return {num_nodes, MakePhiloxKey(0, 0, 0, 0, Purpose::kPartition)};
}

// The weights in each node of the tree.
class PartTree {
 public:
  explicit PartTree(const BookWeights& weights)
      : weights_(weights), loads_(size_t{kNodes} * weights.kinds) {}

  void Add(uint64_t v, uint32_t part, int32_t sign) {
    for (uint32_t node = kFineParts + part; node > 0; node /= 2) {
      for (uint32_t kind = 0; kind < weights_.kinds; ++kind) {
        loads_[node * weights_.kinds + kind] += sign * weights_.Of(v)[kind];
      }
    }
  }
  // Returns the part of v, which has `counts` neighbours in each node.
  uint32_t Descend(uint64_t v,
                   const std::array<uint64_t, kNodes>& counts) const {
    uint32_t node = 1;
    for (double share = 0.5; node < kFineParts; share /= 2) {
      const double rooms[] = {Room(v, 2 * node, share),
                              Room(v, 2 * node + 1, share)};
      const double scores[] = {
          static_cast<double>(counts[2 * node]) * rooms[0],
          static_cast<double>(counts[2 * node + 1]) * rooms[1]};
      const bool by_room =
          rooms[0] <= 0 || rooms[1] <= 0 || scores[0] == scores[1];
      const bool second = by_room ? rooms[1] > rooms[0] : scores[1] > scores[0];
      node = 2 * node + static_cast<uint32_t>(second);
    }
    return node - kFineParts;
  }

 private:
  // Returns the share that a node has left of what it may have, the mean of the
  // kinds by what v weighs of them. So a vertex without work goes to a node
  // that is full of work.
  double Room(uint64_t v, uint32_t node, double share) const {
    double sum = 0;
    double used = 0;
    for (uint32_t kind = 0; kind < weights_.kinds; ++kind) {
      const auto total = static_cast<double>(weights_.totals[kind]);
      const double of_v = weights_.Of(v)[kind] / total;
      const auto load =
          static_cast<double>(loads_[node * weights_.kinds + kind]);
      sum += of_v;
      used += of_v * load / (kSlack * share * total);
    }
    return sum > 0 ? 1 - used / sum : 1;
  }

  const BookWeights& weights_;
  std::vector<int64_t> loads_;  // [kNodes, kinds]
};

}  // namespace

absl::StatusOr<std::string> StreamedParts(const CscView& graph,
                                          const BookWeights& weights) {
  std::string parts(graph.num_nodes(), static_cast<char>(kNone));
  const KeyedPermutation order = OrderOf(graph.num_nodes());
  PartTree tree(weights);
  for (uint64_t i = 0; i < kPasses * graph.num_nodes(); ++i) {
    const uint64_t v = order(i % graph.num_nodes());
    if (i >= graph.num_nodes()) tree.Add(v, static_cast<uint8_t>(parts[v]), -1);
    std::array<uint64_t, kNodes> counts = {};
    FGNN_ASSIGN_OR_RETURN(const EdgeList list, ReadEdgeList(graph, v));
    FGNN_RETURN_IF_ERROR(ForEachSource(graph, list, [&](GlobalId u) {
      const auto part = static_cast<uint8_t>(parts[u]);
      if (part != kNone && u != v) ++counts[kFineParts + part];
    }));
    for (uint32_t node = kFineParts - 1; node > 0; --node) {
      counts[node] = counts[2 * node] + counts[2 * node + 1];
    }
    const uint32_t part = tree.Descend(v, counts);
    tree.Add(v, part, 1);
    parts[v] = static_cast<char>(part);
  }
  return parts;
}

std::string RandomParts(uint64_t num_nodes) {
  std::string parts(num_nodes, '\0');
  const KeyedPermutation order = OrderOf(num_nodes);
  for (uint64_t i = 0; i < num_nodes; ++i) {
    parts[order(i)] = static_cast<char>(i * kFineParts / num_nodes);
  }
  return parts;
}

}  // namespace fgnn
