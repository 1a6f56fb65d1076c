// The exponential of softmaxes, for kernels and for loops in functions with
// FGNN_TARGET_CLONES.
#ifndef FGNN_TRAINER_SERVICE_NN_EXP_OF_NEGATIVE_H_
#define FGNN_TRAINER_SERVICE_NN_EXP_OF_NEGATIVE_H_

#include <bit>
#include <cstdint>

#include "shared/base/host_device.h"

namespace fgnn {

// Returns exp(x) of x <= 0 to 2 units in the last place. It has no branch, so
// that the compiler vectorises it. The result is at least exp(-87), which is
// negligible beside the largest weight, 1. NaN stays NaN.
FGNN_HOST_DEVICE inline __attribute__((always_inline)) float ExpOfNegative(
    float x) {
  constexpr float kLog2E = 1.44269504F;
  // ln 2 in two parts. The first ends in zeros, so x - n ln 2 is exact but for
  // its last rounding.
  constexpr float kLn2High = 0.693359375F;
  constexpr float kLn2Low = -2.12194440e-4F;
  // 1.5 * 2^23: adding it rounds the other number.
  constexpr float kRounder = 12582912.0F;
  const float bounded = x < -87.0F ? -87.0F : x;
  const float shifted = bounded * kLog2E + kRounder;
  const float n = shifted - kRounder;
  const float r = (bounded - n * kLn2High) - n * kLn2Low;
  // Taylor's series, |r| <= ln 2 / 2.
  float series = 1.0F / 5040;
  series = series * r + 1.0F / 720;
  series = series * r + 1.0F / 120;
  series = series * r + 1.0F / 24;
  series = series * r + 1.0F / 6;
  series = series * r + 0.5F;
  series = series * r + 1.0F;
  series = series * r + 1.0F;
  // 2^n: the last bits of `shifted` are n.
  const uint32_t exponent = (std::bit_cast<uint32_t>(shifted) + 127U) << 23;
  return series * std::bit_cast<float>(exponent);
}

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_EXP_OF_NEGATIVE_H_
