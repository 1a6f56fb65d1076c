#include "sampler_service/sampling/cpu/draws/draw_large.h"

#include "sampler_service/sampling/laws/uniform_law.h"

namespace fgnn {

LargeDraw::LargeDraw(uint32_t max_fanout)
    : places_(max_fanout), drawn_(max_fanout) {}

absl::Span<const uint64_t> LargeDraw::Draw(PhiloxKey key, GlobalId v,
                                           uint64_t degree, uint32_t fanout) {
  drawn_.Start(fanout);
  PhiloxHalves halves(key, v, /*stream=*/0);
  for (uint32_t j = 0; j < fanout; ++j) {
    const uint64_t drawn = FloydDraw(halves, degree, fanout, j);
    if (drawn_.Insert(drawn)) {
      places_[j] = drawn;
    } else {
      const uint64_t last = FloydReplacement(degree, fanout, j);
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
    places_[j] = AnyPlace(halves, degree, j);
  }
  return {places_.data(), fanout};
}

uint64_t LargeDraw::workspace_bytes() const {
  return places_.size() * sizeof(uint64_t) + drawn_.workspace_bytes();
}

}  // namespace fgnn
