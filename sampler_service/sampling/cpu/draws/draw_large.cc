#include "sampler_service/sampling/cpu/draws/draw_large.h"

namespace fgnn {

LargeDraw::LargeDraw(uint32_t max_fanout)
    : places_(max_fanout), drawn_(max_fanout) {}

absl::Span<const uint64_t> LargeDraw::Draw(PhiloxKey key, GlobalId v,
                                           uint64_t degree, uint32_t fanout) {
  drawn_.Start(fanout);
  PhiloxHalves halves(key, v, /*stream=*/0);
  for (uint32_t j = 0; j < fanout; ++j) {
    const uint64_t last = degree - fanout + j;
    const uint64_t drawn = UniformBelow(halves.Get(j), last + 1);
    if (drawn_.Insert(drawn)) {
      places_[j] = drawn;
    } else {
      // `last` is new: every place drawn before it is below `last`.
      drawn_.Insert(last);
      places_[j] = last;
    }
  }
  return {places_.data(), fanout};
}

absl::Span<const uint64_t> LargeDraw::DrawAny(PhiloxKey key, GlobalId v,
                                              uint64_t degree,
                                              uint32_t fanout) {
  PhiloxHalves halves(key, v, /*stream=*/0);
  for (uint32_t j = 0; j < fanout; ++j) {
    places_[j] = UniformBelow(halves.Get(j), degree);
  }
  return {places_.data(), fanout};
}

uint64_t LargeDraw::workspace_bytes() const {
  return places_.size() * sizeof(uint64_t) + drawn_.workspace_bytes();
}

}  // namespace fgnn
