// Numbers as features are stored and as a trainer computes with them. CPUs and
// kernels share these conversions, so that their bits agree.
#ifndef FGNN_TRAINER_SERVICE_COMPUTE_NUMBERS_H_
#define FGNN_TRAINER_SERVICE_COMPUTE_NUMBERS_H_

#include <bit>
#include <cstdint>

#include "shared/base/host_device.h"

namespace fgnn {

// A number in its stored form.
struct Float16 {
  uint16_t bits;
};
struct Bfloat16 {
  uint16_t bits;
};

FGNN_HOST_DEVICE inline float Widen(float number) { return number; }

FGNN_HOST_DEVICE inline float Widen(Bfloat16 number) {
  return std::bit_cast<float>(static_cast<uint32_t>(number.bits) << 16);
}

// Uses integer operations that every processor can do for many numbers at once.
// A product moves the exponent to f32's bias, which is exact for subnormal
// numbers too. Infinities and NaN get f32's largest exponent.
FGNN_HOST_DEVICE inline float Widen(Float16 number) {
  constexpr float kRebias = 0x1.0p112f;
  const uint32_t half = number.bits;
  const uint32_t magnitude = (half & 0x7fffu) << 13;
  const uint32_t widened =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * kRebias);
  const uint32_t special = magnitude >= (0x7c00u << 13) ? 0x7f800000u : 0u;
  return std::bit_cast<float>(widened | special | ((half & 0x8000u) << 16));
}

// Returns the nearest number, the even one of two. A number that is too large
// becomes infinite; NaN stays NaN.
FGNN_HOST_DEVICE inline Bfloat16 RoundToBfloat16(float number) {
  constexpr uint32_t kQuiet = 0x400000u;
  const uint32_t bits = std::bit_cast<uint32_t>(number);
  const uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1u);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return {static_cast<uint16_t>((is_nan ? bits | kQuiet : rounded) >> 16)};
}

// Does the same for f16, whose largest number is 65504. All processors can do
// it for many numbers at once: there is no branch.
inline Float16 RoundToFloat16(float number) {
  const uint32_t bits = std::bit_cast<uint32_t>(number);
  const uint32_t magnitude = bits & 0x7fffffffu;
  // A number below 2^-14 has no exponent of its own. Its sum with 1/2 has its
  // last place where f16 has it, and is rounded by the processor.
  const uint32_t small =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + .5f) -
      std::bit_cast<uint32_t>(.5f);
  const uint32_t rebiased = magnitude - (112u << 23);
  const uint32_t normal = (rebiased + 0xfffu + (rebiased >> 13 & 1u)) >> 13;
  const uint32_t rounded = magnitude < (113u << 23) ? small : normal;
  // 65520 is the least number that is rounded beyond 65504.
  const uint32_t bounded = magnitude >= 0x477ff000u ? 0x7c00u : rounded;
  const uint32_t all = magnitude > 0x7f800000u ? 0x7e00u : bounded;
  return {static_cast<uint16_t>(all | (bits >> 16 & 0x8000u))};
}

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMPUTE_NUMBERS_H_
