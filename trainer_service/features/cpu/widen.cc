#include "trainer_service/features/cpu/widen.h"

#include <bit>
#include <cstring>

#include "trainer_service/compute/target_clones.h"

namespace fgnn {
namespace {

FGNN_TARGET_CLONES
void WidenBfloat16(const uint16_t* from, uint64_t count, float* to) {
  for (uint64_t i = 0; i < count; ++i) {
    to[i] = std::bit_cast<float>(static_cast<uint32_t>(from[i]) << 16);
  }
}

// By integer operations that every processor can do for many numbers at once:
// the exponent is moved to f32's bias by a product, which is exact for
// subnormal numbers too; infinities and NaN get f32's largest exponent.
FGNN_TARGET_CLONES
void WidenFloat16(const uint16_t* from, uint64_t count, float* to) {
  constexpr float kRebias = 0x1.0p112f;
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t half = from[i];
    const uint32_t magnitude = (half & 0x7fffu) << 13;
    const uint32_t widened =
        std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * kRebias);
    const uint32_t special = magnitude >= (0x7c00u << 13) ? 0x7f800000u : 0u;
    to[i] = std::bit_cast<float>(widened | special | ((half & 0x8000u) << 16));
  }
}

}  // namespace

void WidenToFloats(FeatureType type, const std::byte* from, uint64_t count,
                   float* to) {
  switch (type) {
    case FeatureType::kFloat32:
      std::memcpy(to, from, count * sizeof(float));
      return;
    case FeatureType::kFloat16:
      WidenFloat16(reinterpret_cast<const uint16_t*>(from), count, to);
      return;
    case FeatureType::kBfloat16:
      WidenBfloat16(reinterpret_cast<const uint16_t*>(from), count, to);
      return;
  }
}

}  // namespace fgnn
