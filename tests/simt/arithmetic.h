// CUDA's functions of one thread: loads, bits, numbers.
#ifndef FGNN_TESTS_SIMT_ARITHMETIC_H_
#define FGNN_TESTS_SIMT_ARITHMETIC_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

using std::max;
using std::min;

// On a GPU these choose a cache.
template <typename T>
T __ldg(const T* address) {
  return *address;
}
template <typename T>
T __ldcg(const T* address) {
  return *address;
}
template <typename T>
T __ldcs(const T* address) {
  return *address;
}
template <typename T>
void __stcs(T* address, T value) {
  *address = value;
}

inline int __popc(uint32_t x) { return std::popcount(x); }
inline int __popcll(uint64_t x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<uint32_t>(x)); }
inline int __clzll(long long x) {
  return std::countl_zero(static_cast<uint64_t>(x));
}
inline int __ffs(int x) {
  return x == 0 ? 0 : std::countr_zero(static_cast<uint32_t>(x)) + 1;
}
inline uint32_t __umulhi(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(uint64_t{a} * b >> 32);
}
inline uint64_t __umul64hi(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(Wide{a} * b >> 64);
}

// Rounded to nearest, each alone: the build contracts nothing.
inline uint32_t __float_as_uint(float x) { return std::bit_cast<uint32_t>(x); }
inline float __uint_as_float(uint32_t x) { return std::bit_cast<float>(x); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __dadd_rn(double a, double b) { return a + b; }

#endif  // FGNN_TESTS_SIMT_ARITHMETIC_H_
