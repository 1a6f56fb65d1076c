#include "sampler_service/sampling/cuda/batch_buffers.h"

#include <algorithm>

#include "shared/base/status.h"

namespace fgnn {
namespace {

// Drops the old array first: the device may not have room for both.
template <typename T>
absl::Status Renew(uint64_t size, DeviceArray<T>* array) {
  *array = {};
  FGNN_ASSIGN_OR_RETURN(*array, DeviceArray<T>::Make(size));
  return absl::OkStatus();
}

}  // namespace

absl::Status BatchBuffers::GrowPlaces(uint64_t num_places) {
  const uint64_t words = num_places / 32 + 1;
  if (place_bits.size() < words) {
    FGNN_RETURN_IF_ERROR(Renew(words, &place_bits));
  }
  if (!drops_edges || drawn.size() >= num_places) return absl::OkStatus();
  FGNN_RETURN_IF_ERROR(Renew(num_places, &drawn));
  if (has_weights) FGNN_RETURN_IF_ERROR(Renew(num_places, &drawn_weights));
  return Renew(words, &left_before);
}

absl::Status BatchBuffers::GrowHop(HopBuffers* hop, uint64_t num_edges) {
  FGNN_RETURN_IF_ERROR(Renew(num_edges, &hop->edges));
  if (has_weights) FGNN_RETURN_IF_ERROR(Renew(num_edges, &hop->weights));
  return GrowPlaces(std::max<uint64_t>(num_edges, seeds.size()));
}

absl::Status BatchBuffers::SetRoom(uint64_t room) {
  FGNN_RETURN_IF_ERROR(Renew(room, &adjacency));
  FGNN_RETURN_IF_ERROR(Renew(room, &marks));
  for (HopBuffers& hop : hops) {
    FGNN_RETURN_IF_ERROR(Renew(room + 1, &hop.indptr));
  }
  return absl::OkStatus();
}

uint64_t BatchBuffers::MaxPlaces() const {
  uint64_t most = seeds.size();
  for (const HopBuffers& hop : hops) most = std::max(most, hop.edges.size());
  return most;
}

uint64_t BatchBuffers::bytes() const {
  uint64_t bytes = counts.bytes() + seeds.bytes() + adjacency.bytes() +
                   marks.bytes() + place_bits.bytes() + block_sums.bytes() +
                   large_draws.bytes() + drawn.bytes() + drawn_weights.bytes() +
                   left_before.bytes() + seed_edges.bytes();
  for (const HopBuffers& hop : hops) {
    bytes += hop.indptr.bytes() + hop.edges.bytes() + hop.weights.bytes();
  }
  return bytes;
}

}  // namespace fgnn
