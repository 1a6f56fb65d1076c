// One hop of a batch, drawn by the law of an algorithm.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_HOP_SAMPLER_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_HOP_SAMPLER_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/sampling/cpu/progress.h"
#include "shared/base/philox.h"
#include "shared/base/types.h"
#include "shared/minibatch/task.h"

namespace fgnn {

struct HopRequest {
  PhiloxKey key;  // Of this hop's draws.
  int32_t fanout;
  // All vertices of the batch so far; those of the batch's earlier hops first.
  absl::Span<const GlobalId> nodes;
  // Destinations are the nodes from here on.
  uint64_t first = 0;
};

// Thread-compatible: one per sampling thread. Allocates when created, or as
// batches grow beyond all before them; never for every batch.
class HopSampler {
 public:
  // Room in the task for the hop's edges.
  using MakeRoom = absl::FunctionRef<absl::StatusOr<TaskWriter::HopArrays>(
      uint64_t num_edges)>;

  virtual ~HopSampler() = default;

  // Forgets all vertices.
  virtual void StartBatch() = 0;

  // Asks once for room, for as many edges as the hop can have, and fills
  // indptr, from 0, of the destinations, indices with global ids, and weights
  // where the algorithm has them. Returns the edges it made.
  // InvalidArgument: indptr falls, or an index that was drawn is not a vertex.
  virtual absl::StatusOr<uint64_t> Sample(const HopRequest& request,
                                          MakeRoom make_room) = 0;

  virtual uint64_t workspace_bytes() const = 0;

  // Rises while Sample() works. Any thread.
  uint64_t progress() const { return progress_.ticks(); }

 protected:
  Progress progress_;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_HOP_SAMPLER_H_
