// CUDA's functions of one thread: loads, bits, numbers.
#ifndef FGNN_TESTS_SIMT_ARITHMETIC_H_
#define FGNN_TESTS_SIMT_ARITHMETIC_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

using std::max;
using std::min;

// On a GPU this takes the way through the read-only cache.
template <typename T>
T __ldg(const T* address) {
  return *address;
}

inline int __popc(uint32_t x) { return std::popcount(x); }
inline int __ffs(int x) {
  return x == 0 ? 0 : std::countr_zero(static_cast<uint32_t>(x)) + 1;
}

// Rounded to nearest, each alone: the build contracts nothing.
inline float __uint_as_float(uint32_t x) { return std::bit_cast<float>(x); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }

#endif  // FGNN_TESTS_SIMT_ARITHMETIC_H_
