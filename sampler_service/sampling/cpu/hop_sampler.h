// One hop of a batch, drawn by the law of an algorithm.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_HOP_SAMPLER_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_HOP_SAMPLER_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/sampling/cpu/draws/draw_lanes.h"
#include "sampler_service/sampling/progress.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/base/philox.h"
#include "shared/base/types.h"
#include "shared/minibatch/task.h"

namespace fgnn {

struct HopRequest {
  PhiloxKey key;  // Key of this hop's draws.
  int32_t fanout;
  // All vertices of the batch so far; the vertices of earlier hops come first.
  absl::Span<const GlobalId> nodes;
  // Index of the first destination; all nodes from it on are destinations.
  uint64_t first = 0;
  // Gets the place of each new edge at its end, if KeepsPlaces(); or null.
  std::vector<EdgeOffset>* places = nullptr;
};

// What the hops of a job are drawn from, and how. What it points to is
// borrowed.
struct HopsOptions {
  SamplerInput input;
  WalkOptions walks;
  bool replace = false;
  uint64_t max_destinations = 0;  // Most destinations of any hop of a batch.
  uint32_t max_fanout = 0;        // Largest of the fanouts that are not -1.
  LaneFunctions lanes;
};

// Thread-compatible: one per sampling thread. Allocates when created, or when a
// batch is larger than all before it; not for every batch.
class HopSampler {
 public:
  // Returns room in the task for the hop's edges.
  using MakeRoom = absl::FunctionRef<absl::StatusOr<TaskWriter::HopArrays>(
      uint64_t num_edges)>;

  virtual ~HopSampler() = default;

  // False: there was no memory for the workspace.
  bool has_memory() const { return true; }

  // Returns whether Sample() tells the places of edges.
  virtual bool KeepsPlaces() const { return false; }

  // Forgets all vertices.
  virtual void StartBatch() {}

  // Asks once for room for as many edges as the hop can have. Fills indptr of
  // the destinations, from 0; indices, with global ids; and weights where the
  // algorithm has them. Returns the number of edges that it made.
  // InvalidArgument: indptr falls, or an index that was drawn is not a vertex.
  virtual absl::StatusOr<uint64_t> Sample(const HopRequest& request,
                                          MakeRoom make_room) = 0;

  virtual uint64_t workspace_bytes() const = 0;

  // Returns a number that rises while Sample() works. Any thread.
  uint64_t progress() const { return progress_.ticks(); }

 protected:
  Progress progress_;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_HOP_SAMPLER_H_
