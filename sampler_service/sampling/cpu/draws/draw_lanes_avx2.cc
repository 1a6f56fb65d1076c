// Compiled with -mavx2; called only where SupportedDrawLanes() names it.
#include <immintrin.h>

#include "sampler_service/sampling/cpu/draws/draw_lanes_body.h"

namespace fgnn {
namespace {

struct Avx2Vec {
  using Register = __m256i;
  static constexpr uint32_t kWidth = 4;
  static Register Load(const uint32_t* from) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(from));
  }
  static void Store(uint32_t* to, Register a) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(to), a);
  }
  static Register Set(uint32_t x) { return _mm256_set1_epi64x(x); }
  static Register MulLow(Register a, Register b) {
    return _mm256_mul_epu32(a, b);
  }
  static Register High(Register a) { return _mm256_srli_epi64(a, 32); }
  static Register PackHigh(Register a, Register b) {
    return _mm256_blend_epi32(High(a), b, 0xaa);
  }
  static Register PackLow(Register a, Register b) {
    return _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), 0xaa);
  }
  static Register Xor(Register a, Register b, Register c) {
    return _mm256_xor_si256(_mm256_xor_si256(a, b), c);
  }
  static Register Add(Register a, Register b) { return _mm256_add_epi64(a, b); }
  static uint32_t AppendBelow(const uint32_t* words, uint32_t limit,
                              uint32_t first, uint32_t* places) {
    return AppendBelowPlain(words, limit, first, places);
  }
};

}  // namespace

constexpr LaneFunctions kLanesAvx2 = LanesOf<Avx2Vec>("avx2");

}  // namespace fgnn
