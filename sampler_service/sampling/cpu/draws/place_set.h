// The set of places of an adjacency list that were already drawn.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_DRAWS_PLACE_SET_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_DRAWS_PLACE_SET_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace fgnn {

// A hash table with open addressing, at most half full. Thread-compatible;
// allocates in its constructor only.
class PlaceSet {
 public:
  explicit PlaceSet(uint32_t max_size)
      : table_(std::bit_ceil(2 * uint64_t{std::max(max_size, 1u)})) {}

  // Empties the set, for at most `size` places.
  void Start(uint32_t size) {
    const uint64_t in_use = std::bit_ceil(2 * uint64_t{size});
    mask_ = in_use - 1;
    shift_ = 64 - std::countr_zero(in_use);
    std::fill_n(table_.begin(), in_use, uint64_t{0});
  }
  // Returns false if the place is already in the set.
  bool Insert(uint64_t place) {
    uint64_t& cell = table_[Find(place)];
    if (cell != 0) return false;
    cell = place + 1;
    return true;
  }
  bool Contains(uint64_t place) const { return table_[Find(place)] != 0; }

  uint64_t workspace_bytes() const { return table_.size() * sizeof(uint64_t); }

 private:
  // Returns the entry where the place is, or where it could be put.
  uint64_t Find(uint64_t place) const {
    uint64_t at = (place * 0x9e3779b97f4a7c15u) >> shift_;
    while (table_[at] != 0 && table_[at] != place + 1) at = (at + 1) & mask_;
    return at;
  }

  std::vector<uint64_t> table_;  // Entries: place + 1, or 0 if free.
  uint64_t mask_ = 0;
  int shift_ = 63;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_DRAWS_PLACE_SET_H_
