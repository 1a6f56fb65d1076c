#include "sampler_service/sampling/cpu/draw_large.h"

#include <algorithm>
#include <bit>

namespace fgnn {

LargeDraw::LargeDraw(uint32_t max_fanout)
    : places_(max_fanout),
      table_(std::bit_ceil(2 * uint64_t{std::max(max_fanout, 1u)})) {}

bool LargeDraw::Insert(uint64_t place) {
  const uint64_t mask = (uint64_t{1} << (64 - shift_)) - 1;
  uint64_t at = (place * 0x9e3779b97f4a7c15u) >> shift_;
  while (table_[at] != 0) {
    if (table_[at] == place + 1) return false;
    at = (at + 1) & mask;
  }
  table_[at] = place + 1;
  return true;
}

absl::Span<const uint64_t> LargeDraw::Draw(PhiloxKey key, GlobalId v,
                                           uint64_t degree, uint32_t fanout) {
  const uint64_t in_use = std::bit_ceil(2 * uint64_t{fanout});
  shift_ = 64 - std::countr_zero(in_use);
  std::fill_n(table_.begin(), in_use, uint64_t{0});
  PhiloxBlock block = {};
  for (uint32_t j = 0; j < fanout; ++j) {
    if (j % 2 == 0) block = Philox4x32({v, j / 2, 0, 0}, key);
    const uint32_t* const words = block.words + 2 * (j % 2);
    const uint64_t last = degree - fanout + j;
    const uint64_t drawn =
        UniformBelow(uint64_t{words[1]} << 32 | words[0], last + 1);
    if (Insert(drawn)) {
      places_[j] = drawn;
    } else {
      Insert(last);  // New: every place before it is below `last`.
      places_[j] = last;
    }
  }
  return {places_.data(), fanout};
}

uint64_t LargeDraw::workspace_bytes() const {
  return (places_.size() + table_.size()) * sizeof(uint64_t);
}

}  // namespace fgnn
