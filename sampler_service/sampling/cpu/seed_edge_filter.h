// Leaves a batch's training edges out of its hops, in both directions, so that
// the model does not see what it is to predict.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_SEED_EDGE_FILTER_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_SEED_EDGE_FILTER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/minibatch/task.h"

namespace fgnn {

// Not thread-safe. Allocates only when created.
class SeedEdgeFilter {
 public:
  // Makes a filter for batches of at most max_edges training edges.
  explicit SeedEdgeFilter(uint64_t max_edges);

  // `edges` [P, 2] are local ids: the first ids of the batch, in order of first
  // appearance. `nodes` has the global id of each.
  void StartBatch(absl::Span<const uint32_t> edges,
                  absl::Span<const GlobalId> nodes);

  // A range of destinations, as local ids.
  struct Range {
    uint64_t first = 0;
    uint64_t end = 0;
  };
  // Removes the batch's edges from the edges drawn for a range of destinations.
  // `drawn` has indptr [end - first + 1], from 0; indices, global ids; and
  // weights, which may be null. Returns how many edges are left. Takes O(number
  // of edges into ends of the P training edges).
  uint64_t Filter(Range destinations, const TaskWriter::HopArrays& drawn) const;

 private:
  // The ends of the batch's edges are the local ids [0, num_ends_). The
  // partners of end i are partners_[begins_[i] .. begins_[i + 1]): rising
  // global ids.
  uint64_t num_ends_ = 0;
  std::vector<uint32_t> begins_;
  std::vector<GlobalId> partners_;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_SEED_EDGE_FILTER_H_
