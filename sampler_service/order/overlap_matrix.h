// How many input nodes the batches of a window share, by pairs.
#ifndef FGNN_SAMPLER_SERVICE_ORDER_OVERLAP_MATRIX_H_
#define FGNN_SAMPLER_SERVICE_ORDER_OVERLAP_MATRIX_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace fgnn {

// Most batches of a window: a vertex's batches are the bits of a word.
inline constexpr uint32_t kMaxWindow = 64;

// Thread-compatible.
class OverlapMatrix {
 public:
  // `num_batches` is in [0, kMaxWindow].
  explicit OverlapMatrix(uint32_t num_batches)
      : size_(num_batches), shared_(size_t{num_batches} * num_batches) {}

  uint32_t size() const { return size_; }

  // Counts a vertex. Bit i of `batches`: batch i has it. No bit is set from
  // size() on.
  void AddVertex(uint64_t batches) {
    for (uint64_t a = batches; a != 0; a &= a - 1) {
      uint64_t* const row = &shared_[std::countr_zero(a) * size_t{size_}];
      for (uint64_t b = a; b != 0; b &= b - 1) ++row[std::countr_zero(b)];
    }
  }

  // Returns the number of input nodes that both batches have. With itself, a
  // batch shares all that it has.
  uint64_t Shared(uint32_t a, uint32_t b) const {
    return shared_[size_t{std::min(a, b)} * size_ + std::max(a, b)];
  }
  // Returns the number of input nodes of all batches together, each batch's
  // for itself.
  uint64_t InputNodes() const {
    uint64_t sum = 0;
    for (uint32_t a = 0; a < size_; ++a) sum += Shared(a, a);
    return sum;
  }

 private:
  uint32_t size_;
  std::vector<uint64_t> shared_;  // [size, size]; the upper triangle alone.
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_ORDER_OVERLAP_MATRIX_H_
