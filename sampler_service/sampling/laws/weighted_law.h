// Draws of places by weight, for hosts and devices. The law is in
// sampling/cpu/weighted_hops.h.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_LAWS_WEIGHTED_LAW_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_LAWS_WEIGHTED_LAW_H_

#include <bit>
#include <cstdint>

#include "shared/base/host_device.h"
#include "shared/base/philox.h"
#include "shared/base/types.h"

namespace fgnn {

inline constexpr uint32_t kAttemptsPerEdge = 4;

// A draw picks a place of the list and a coin of 32 bits. If the coin is below
// the threshold the draw stays at the place; else it goes to `other`, a place
// of the same list. The cell holds the vertices at both places, so that a draw
// costs one random read.
struct AliasCell {
  uint32_t threshold;
  uint32_t other;
  GlobalId vertex;
  GlobalId other_vertex;
};

struct AliasDraw {
  uint32_t place;
  uint32_t coin;
};

// Returns the place and the coin of 64 random bits; 1 <= degree < 2^32.
FGNN_HOST_DEVICE constexpr AliasDraw DrawAlias(uint64_t random_bits,
                                               uint64_t degree) {
  const Uint128 product = static_cast<Uint128>(random_bits) * degree;
  return {static_cast<uint32_t>(product >> 64),
          static_cast<uint32_t>(product >> 32)};
}

// Returns a * b, rounded before anything is added to it.
FGNN_HOST_DEVICE inline double RoundedProduct(double a, double b) {
#if defined(__CUDA_ARCH__)
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}

// Returns -ln of a uniform number in (0, 1] that is made of the upper 53 bits.
// The IEEE arithmetic gives the same on every device. Accurate to 1e-15.
FGNN_HOST_DEVICE inline double Exponential(uint64_t random_bits) {
  // u = n / 2^53 with n in [1, 2^53]: -ln(u) = 53 ln 2 - ln(n).
  const uint64_t n = (random_bits >> 11) + 1;
  // n = 2^exponent * m, m in [1, 2), halved where it is beyond sqrt(2). The
  // exponent is that of the exact double: nvcc takes std::bit_width() for 0.
  double m = static_cast<double>(n);
  uint64_t bits = std::bit_cast<uint64_t>(m);
  const int exponent = static_cast<int>(bits >> 52) - 1023;
  bits = (bits & 0x000f'ffff'ffff'ffffu) | 0x3ff0'0000'0000'0000u;
  m = std::bit_cast<double>(bits);
  int halvings = 0;
  if (m > 1.4142135623730951) {
    m *= 0.5;
    halvings = 1;
  }
  // ln(m) = 2 atanh(s), s = (m - 1) / (m + 1), |s| below 0.1716.
  const double s = (m - 1) / (m + 1);
  const double s2 = RoundedProduct(s, s);
  double series = 0;
  for (int k = 21; k >= 1; k -= 2) {
    series = 1.0 / k + RoundedProduct(series, s2);
  }
  const double log_m = RoundedProduct(2 * s, series);
  return RoundedProduct(53 - exponent - halvings, 0.6931471805599453) - log_m;
}

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_LAWS_WEIGHTED_LAW_H_
