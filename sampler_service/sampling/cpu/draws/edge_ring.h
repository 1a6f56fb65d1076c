// Edges of a hop that are drawn but not yet read. The ring holds their places
// in the array of indices, so that a constant number of reads is in flight.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_DRAWS_EDGE_RING_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_DRAWS_EDGE_RING_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <new>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "shared/base/read_once.h"
#include "shared/base/types.h"
#include "shared/graph/edge_lists.h"

namespace fgnn {

// Index is uint32_t or int64_t, as the dataset has it. Thread-compatible;
// allocates only when created. Borrows the indices.
template <typename Index>
class EdgeRing {
 public:
  // At most `max_group_edges` edges are put between two reads.
  EdgeRing(absl::Span<const Index> indices, uint32_t max_group_edges)
      : indices_(indices.data()),
        mask_(std::bit_ceil(std::max(max_group_edges, 1u) + kPrefetched) - 1),
        places_(new (std::nothrow) EdgeOffset[uint64_t{mask_} + 1]) {}
  bool has_memory() const { return places_ != nullptr; }
  uint64_t workspace_bytes() const {
    return (uint64_t{mask_} + 1) * sizeof(EdgeOffset);
  }

  // `out` is where edge 0 of the hop goes, as a global id, and `out_places`,
  // unless it is null, where its place goes.
  void StartHop(uint32_t* out, EdgeOffset* out_places = nullptr) {
    out_ = out;
    out_places_ = out_places;
    num_read_ = 0;
    largest_ = 0;
  }

  // Stores the place of an edge. Edges may be put in any order, but all edges
  // of a group must be put before the group is read.
  void Put(uint32_t edge, EdgeOffset place) { places_[edge & mask_] = place; }

  // Reads those edges whose places were prefetched long enough ago. All edges
  // below `num_put` must have been put.
  void ReadMost(uint32_t num_put) {
    Read(num_put - std::min(num_put, kPrefetched), num_put);
  }
  void ReadAll(uint32_t num_put) { Read(num_put, num_put); }

  // InvalidArgument: an index that was read is not a vertex of `graph`.
  absl::Status CheckRead(const CscView& graph) const {
    return CheckLargestIndex(graph, largest_);
  }

 private:
  static constexpr uint32_t kPrefetched = 128;

  void Read(uint32_t until, uint32_t num_put) {
    const Index* const indices = indices_;
    const EdgeOffset* const places = places_.get();
    uint32_t* const out = out_;
    uint64_t largest = largest_;
    for (uint32_t edge = num_read_; edge < until; ++edge) {
      if (edge + kPrefetched < num_put) {
        __builtin_prefetch(&indices[places[(edge + kPrefetched) & mask_]]);
      }
      const auto index =
          static_cast<uint64_t>(ReadOnce(indices[places[edge & mask_]]));
      largest = index > largest ? index : largest;
      out[edge] = static_cast<uint32_t>(index);
    }
    if (out_places_ != nullptr) {
      for (uint32_t edge = num_read_; edge < until; ++edge) {
        out_places_[edge] = places[edge & mask_];
      }
    }
    num_read_ = std::max(num_read_, until);
    largest_ = largest;
  }

  const Index* indices_;
  uint32_t mask_;
  // [mask_ + 1]; the place of edge e is at e & mask_.
  std::unique_ptr<EdgeOffset[]> places_;
  uint32_t* out_ = nullptr;
  EdgeOffset* out_places_ = nullptr;
  uint32_t num_read_ = 0;
  uint64_t largest_ = 0;  // Largest index of this hop; negative ones are huge.
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_DRAWS_EDGE_RING_H_
