// One hop of k-hop uniform sampling on the CPU, straight into the CSC arrays
// of a task (FastSample's fused sampling): no edge list in between.
//
//   LookUp      places of the adjacency lists of new vertices
//   CountEdges  how much room the hop takes
//   Fill        indptr, and indices as global ids
//
// Each step runs over all destinations with a constant number of memory
// accesses under way, so that the time to memory is not paid per edge.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_HOP_SAMPLER_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_HOP_SAMPLER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/sampling/cpu/draw_lanes.h"
#include "sampler_service/sampling/cpu/draw_large.h"
#include "shared/base/philox.h"
#include "shared/base/types.h"
#include "shared/minibatch/task.h"

namespace fgnn {

// Index is uint32_t or int64_t, as the dataset has it. Thread-compatible;
// allocates when created only. Borrows the graph.
template <typename Index>
class HopSampler {
 public:
  struct Options {
    absl::Span<const EdgeOffset> indptr;  // [num_nodes + 1]
    absl::Span<const Index> indices;      // [num_edges]
    uint64_t max_destinations = 0;        // Of any hop of a batch.
    uint32_t max_fanout = 0;              // Of the fanouts that are not -1.
    DrawLanesFn draw_lanes = nullptr;
  };
  // ResourceExhausted: no memory for the workspace.
  static absl::StatusOr<std::unique_ptr<HopSampler>> Create(
      const Options& options);

  // Forgets all destinations.
  void StartBatch() { num_known_ = 0; }

  // Learns where the adjacency lists of `nodes` are; `nodes` begins with those
  // of the batch's last call. InvalidArgument: indptr falls.
  absl::Status LookUp(absl::Span<const GlobalId> nodes);

  // The sum over all known destinations of min(fanout, in-degree).
  uint64_t CountEdges(int32_t fanout) const;

  // Draws for all known destinations `nodes`. InvalidArgument: an index that
  // was drawn is not a vertex.
  absl::Status Fill(PhiloxKey key, int32_t fanout,
                    absl::Span<const GlobalId> nodes,
                    const TaskWriter::HopArrays& hop);

  uint64_t workspace_bytes() const;

  // Rises while vertices are looked up and drawn for. Any thread.
  uint64_t progress() const {
    return progress_.load(std::memory_order_relaxed);
  }

 private:
  struct AdjacencyList {
    EdgeOffset begin;
    uint64_t degree;
  };
  // Destinations of a group that lanes draw for.
  struct Group {
    LaneDraws draws;
    std::array<EdgeOffset, kDrawLanes> begins;
    std::array<uint32_t, kDrawLanes> outs;  // Where their edges begin.
    uint32_t num_lanes = 0;
  };

  explicit HopSampler(const Options& options);
  void FillSmall(PhiloxKey key, uint32_t fanout,
                 absl::Span<const GlobalId> nodes,
                 const TaskWriter::HopArrays& hop);
  void FillLarge(PhiloxKey key, uint64_t fanout,
                 absl::Span<const GlobalId> nodes,
                 const TaskWriter::HopArrays& hop);
  void Sort(PhiloxKey key, uint32_t fanout, absl::Span<const GlobalId> nodes,
            uint64_t first, uint32_t* indptr);
  // Of one writer, so without a locked instruction.
  void Tick() {
    progress_.store(progress_.load(std::memory_order_relaxed) + 1,
                    std::memory_order_relaxed);
  }
  void Gather(uint32_t until, uint32_t known, uint32_t* out);

  Options options_;
  std::unique_ptr<AdjacencyList[]> lists_;  // [max_destinations]
  uint64_t num_known_ = 0;
  LargeDraw large_draw_;
  std::unique_ptr<Group> group_;
  // Edges of the hop that are drawn but not yet read: edge e is at
  // e mod (ring_mask_ + 1).
  std::unique_ptr<EdgeOffset[]> ring_;
  uint32_t ring_mask_ = 0;
  uint32_t num_gathered_ = 0;
  std::atomic<uint64_t> progress_ = 0;
  uint64_t largest_index_ = 0;  // Of this Fill(); negative ones are huge.
};

extern template class HopSampler<uint32_t>;
extern template class HopSampler<int64_t>;

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_HOP_SAMPLER_H_
