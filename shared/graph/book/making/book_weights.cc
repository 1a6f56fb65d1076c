#include "shared/graph/book/making/book_weights.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "shared/base/status.h"
#include "shared/graph/edge_lists.h"

namespace fgnn {
namespace {

using Weights = std::vector<uint32_t>;

absl::StatusOr<Weights> TrainWeights(const Dataset& dataset) {
  Weights weights(dataset.num_nodes());
  for (size_t i = 0; i < dataset.train().size(); ++i) {
    FGNN_ASSIGN_OR_RETURN(const GlobalId v,
                          ReadSplit(dataset.graph().places, dataset.train(), i,
                                    dataset.num_nodes()));
    weights[v] = 1;
  }
  return weights;
}

Weights WorkWeights(const Dataset& dataset, absl::Span<const uint32_t> visits) {
  Weights weights(dataset.num_nodes());
  for (uint64_t v = 0; v < weights.size(); ++v) {
    weights[v] = visits.empty() ? static_cast<uint32_t>(std::min<uint64_t>(
                                      DegreeOf(dataset.graph(), v), UINT32_MAX))
                                : visits[v];
  }
  return weights;
}

// Returns the largest sum that is not above kMostWeight.
int64_t ScaleDown(Weights& weights) {
  const uint64_t sum =
      std::accumulate(weights.begin(), weights.end(), uint64_t{0});
  if (sum <= kMostWeight) return static_cast<int64_t>(sum);
  // Each weight may be rounded up to 1.
  const uint64_t room = kMostWeight - std::min(kMostWeight, weights.size());
  uint64_t scaled = 0;
  for (uint32_t& weight : weights) {
    if (weight == 0) continue;
    weight = std::max<uint32_t>(
        static_cast<uint32_t>(static_cast<double>(weight) *
                              (static_cast<double>(room) / sum)),
        1);
    scaled += weight;
  }
  return static_cast<int64_t>(scaled);
}

}  // namespace

absl::StatusOr<BookWeights> ReadBookWeights(const Dataset& dataset,
                                            const BookBalance& balance) {
  std::vector<Weights> kinds;
  if (balance.vertices) kinds.push_back(Weights(dataset.num_nodes(), 1));
  if (balance.work) kinds.push_back(WorkWeights(dataset, balance.visits));
  if (balance.train) {
    FGNN_ASSIGN_OR_RETURN(Weights train, TrainWeights(dataset));
    kinds.push_back(std::move(train));
  }
  std::erase_if(kinds, [](const Weights& kind) {
    return std::all_of(kind.begin(), kind.end(),
                       [](uint32_t weight) { return weight == 0; });
  });
  if (kinds.empty()) kinds.push_back(Weights(dataset.num_nodes(), 1));
  BookWeights weights;
  weights.kinds = static_cast<uint32_t>(kinds.size());
  weights.of_vertices.resize(dataset.num_nodes() * kinds.size());
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    weights.totals.push_back(ScaleDown(kinds[kind]));
    for (uint64_t v = 0; v < dataset.num_nodes(); ++v) {
      weights.of_vertices[v * kinds.size() + kind] =
          static_cast<int32_t>(kinds[kind][v]);
    }
  }
  return weights;
}

}  // namespace fgnn
