#include "sampler_service/sampling/cpu/seed_edge_filter.h"

#include <algorithm>

namespace fgnn {

SeedEdgeFilter::SeedEdgeFilter(uint64_t max_edges)
    : begins_(2 * max_edges + 2), partners_(2 * max_edges) {}

void SeedEdgeFilter::StartBatch(absl::Span<const uint32_t> edges,
                                absl::Span<const GlobalId> nodes) {
  num_ends_ = uint64_t{*std::max_element(edges.begin(), edges.end())} + 1;
  // During the counting each count stands two places to the right; then each
  // begin stands one place to the right. Once all partners are written, the
  // begins are in their places.
  std::fill_n(begins_.begin(), num_ends_ + 2, 0);
  for (const uint32_t end : edges) ++begins_[end + 2];
  for (uint64_t i = 2; i < num_ends_ + 2; ++i) begins_[i] += begins_[i - 1];
  for (size_t i = 0; i < edges.size(); i += 2) {
    partners_[begins_[edges[i] + 1]++] = nodes[edges[i + 1]];
    partners_[begins_[edges[i + 1] + 1]++] = nodes[edges[i]];
  }
  for (uint64_t i = 0; i < num_ends_; ++i) {
    std::sort(partners_.begin() + begins_[i],
              partners_.begin() + begins_[i + 1]);
  }
}

uint64_t SeedEdgeFilter::Filter(Range destinations,
                                const TaskWriter::HopArrays& drawn) const {
  const uint64_t count = destinations.end - destinations.first;
  const uint64_t num_edges = drawn.indptr[count];
  const uint64_t num_checked =
      std::min(std::max(num_ends_, destinations.first), destinations.end) -
      destinations.first;
  uint32_t left = 0;
  uint32_t edge = 0;
  for (uint64_t d = 0; d < num_checked; ++d) {
    const uint64_t end = destinations.first + d;
    const auto begin_of = partners_.begin() + begins_[end];
    const auto end_of = partners_.begin() + begins_[end + 1];
    for (; edge < drawn.indptr[d + 1]; ++edge) {
      if (std::binary_search(begin_of, end_of, drawn.indices[edge])) continue;
      drawn.indices[left] = drawn.indices[edge];
      if (drawn.weights != nullptr) drawn.weights[left] = drawn.weights[edge];
      ++left;
    }
    drawn.indptr[d + 1] = left;
  }
  const uint32_t dropped = edge - left;
  if (dropped == 0) return num_edges;
  std::copy(drawn.indices + edge, drawn.indices + num_edges,
            drawn.indices + left);
  if (drawn.weights != nullptr) {
    std::copy(drawn.weights + edge, drawn.weights + num_edges,
              drawn.weights + left);
  }
  for (uint64_t d = num_checked; d < count; ++d) drawn.indptr[d + 1] -= dropped;
  return num_edges - dropped;
}

}  // namespace fgnn
