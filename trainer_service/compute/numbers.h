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

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMPUTE_NUMBERS_H_
