// Keeps what a batch is to predict out of what it sees: its training edges, in
// both directions, are left out of its hops.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_SEED_EDGE_FILTER_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_SEED_EDGE_FILTER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/minibatch/task.h"

namespace fgnn {

// Not thread-safe. Allocates only when it is made.
class SeedEdgeFilter {
 public:
  // For batches of at most max_edges training edges.
  explicit SeedEdgeFilter(uint64_t max_edges);

  // edges [P, 2]: local ids, the first that the batch has, in order of first
  // appearance. nodes: the global id of each.
  void StartBatch(absl::Span<const uint32_t> edges,
                  absl::Span<const GlobalId> nodes);

  // Destinations, as local ids.
  struct Range {
    uint64_t first = 0;
    uint64_t end = 0;
  };
  // Leaves the batch's edges out of those drawn for a range of destinations:
  // indptr [end - first + 1], from 0; indices, global ids; weights may be null.
  // Returns how many edges there are then. O(edges into ends of the P).
  uint64_t Filter(Range destinations, const TaskWriter::HopArrays& drawn) const;

 private:
  // The ends of the batch's edges are the local ids [0, num_ends_); what end i
  // is joined with is partners_[begins_[i] .. begins_[i + 1]), global ids that
  // rise.
  uint64_t num_ends_ = 0;
  std::vector<uint32_t> begins_;
  std::vector<GlobalId> partners_;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_SEED_EDGE_FILTER_H_
