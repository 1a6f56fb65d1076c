// Baseline: SSE2 on x86-64, plain integers elsewhere.
#include "sampler_service/sampling/cpu/draws/draw_lanes_body.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace fgnn {
namespace {

#if defined(__SSE2__)
struct PortableVec {
  using Register = __m128i;
  static constexpr uint32_t kWidth = 2;
  static Register Load(const uint32_t* from) {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(from));
  }
  static void Store(uint32_t* to, Register a) {
    _mm_store_si128(reinterpret_cast<__m128i*>(to), a);
  }
  static Register Set(uint32_t x) { return _mm_set1_epi64x(x); }
  static Register MulLow(Register a, Register b) { return _mm_mul_epu32(a, b); }
  static Register High(Register a) { return _mm_srli_epi64(a, 32); }
  static Register PackHigh(Register a, Register b) {
    const __m128i upper =
        _mm_set1_epi64x(static_cast<int64_t>(0xffffffff00000000u));
    return _mm_or_si128(High(a), _mm_and_si128(b, upper));
  }
  static Register PackLow(Register a, Register b) {
    const __m128i lower = _mm_set1_epi64x(0xffffffffu);
    return _mm_or_si128(_mm_and_si128(a, lower), _mm_slli_epi64(b, 32));
  }
  static Register Xor(Register a, Register b, Register c) {
    return _mm_xor_si128(_mm_xor_si128(a, b), c);
  }
  static Register Add(Register a, Register b) { return _mm_add_epi64(a, b); }
  static uint32_t AppendBelow(const uint32_t* words, uint32_t limit,
                              uint32_t first, uint32_t* places) {
    return AppendBelowPlain(words, limit, first, places);
  }
};
#else
struct PortableVec {
  using Register = uint64_t;
  static constexpr uint32_t kWidth = 1;
  static Register Load(const uint32_t* from) {
    return from[0] | uint64_t{from[1]} << 32;
  }
  static void Store(uint32_t* to, Register a) {
    to[0] = static_cast<uint32_t>(a);
    to[1] = static_cast<uint32_t>(a >> 32);
  }
  static Register Set(uint32_t x) { return x; }
  static Register MulLow(Register a, Register b) {
    return (a & UINT32_MAX) * (b & UINT32_MAX);
  }
  static Register High(Register a) { return a >> 32; }
  static Register PackHigh(Register a, Register b) {
    return High(a) | (b & ~uint64_t{UINT32_MAX});
  }
  static Register PackLow(Register a, Register b) {
    return (a & UINT32_MAX) | b << 32;
  }
  static Register Xor(Register a, Register b, Register c) { return a ^ b ^ c; }
  static Register Add(Register a, Register b) { return a + b; }
  static uint32_t AppendBelow(const uint32_t* words, uint32_t limit,
                              uint32_t first, uint32_t* places) {
    return AppendBelowPlain(words, limit, first, places);
  }
};
#endif

}  // namespace

constexpr LaneFunctions kLanesPortable = LanesOf<PortableVec>("portable");

}  // namespace fgnn
