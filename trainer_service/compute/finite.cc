#include "trainer_service/compute/finite.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "trainer_service/compute/target_clones.h"

namespace fgnn {
namespace {

// Exponent of f32's infinities and NaNs; that of all others is smaller.
constexpr uint32_t kSpecial = 0x7f800000U;

FGNN_TARGET_CLONES
uint32_t LargestExponent(const float* values, uint64_t count) {
  uint32_t largest = 0;
  for (uint64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::bit_cast<uint32_t>(values[i]) & kSpecial);
  }
  return largest;
}

}  // namespace

bool AllFinite(absl::Span<const float> values) {
  return LargestExponent(values.data(), values.size()) != kSpecial;
}

}  // namespace fgnn
