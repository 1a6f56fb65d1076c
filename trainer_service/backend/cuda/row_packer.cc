#include "trainer_service/backend/cuda/row_packer.h"

#include <algorithm>

namespace fgnn {
namespace {

// A copied row has a node and a rank too; each input node has a place.
constexpr uint64_t kBytesBesideARow = 2 * sizeof(uint32_t);
constexpr uint64_t kBytesOfAPlace = sizeof(uint32_t);

}  // namespace

const PackedRows* RowPacker::Pack(const RowsToPack& rows) {
  const uint64_t count = rows.nodes.size();
  const uint64_t capacity = rows.capacity;
  const uint64_t dense = std::min<uint64_t>(rows.dense_rows, count);
  if (capacity + count > UINT32_MAX) return nullptr;  // Places have 32 bits.
  const auto kept = static_cast<uint64_t>(std::count_if(
      rows.ranks.begin() + static_cast<ptrdiff_t>(dense), rows.ranks.end(),
      [capacity](uint32_t rank) { return rank < capacity; }));
  if (kept * (kBytesBesideARow + rows.row_bytes) <= count * kBytesOfAPlace) {
    return nullptr;
  }
  nodes_.clear();
  ranks_.clear();
  places_.resize(count);
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t rank = rows.ranks[i];
    if (i >= dense && rank < capacity) {
      places_[i] = rank;
      continue;
    }
    places_[i] = static_cast<uint32_t>(capacity + nodes_.size());
    nodes_.push_back(rows.nodes[i]);
    ranks_.push_back(rank);
  }
  packed_ = {.nodes = nodes_,
             .ranks = ranks_,
             .places = places_,
             .table = rows.table,
             .capacity = static_cast<uint32_t>(capacity)};
  return &packed_;
}

}  // namespace fgnn
