// Compiled with -mavx512f; called only where SupportedDrawLanes() names it.
#include <immintrin.h>

#include "sampler_service/sampling/cpu/draws/draw_lanes_body.h"

namespace fgnn {
namespace {

struct Avx512Vec {
  using Register = __m512i;
  static constexpr uint32_t kWidth = 8;
  static Register Load(const uint32_t* from) { return _mm512_load_si512(from); }
  static void Store(uint32_t* to, Register a) { _mm512_store_si512(to, a); }
  static Register Set(uint32_t x) { return _mm512_set1_epi64(x); }
  static Register MulLow(Register a, Register b) {
    return _mm512_maskz_mul_epu32(0xff, a, b);
  }
  static Register High(Register a) {
    return _mm512_maskz_srli_epi64(0xff, a, 32);
  }
  static Register PackHigh(Register a, Register b) {
    return _mm512_mask_blend_epi32(0xaaaa, High(a), b);
  }
  static Register PackLow(Register a, Register b) {
    return _mm512_mask_blend_epi32(0xaaaa, a,
                                   _mm512_maskz_slli_epi64(0xff, b, 32));
  }
  static Register Xor(Register a, Register b, Register c) {
    return _mm512_ternarylogic_epi64(a, b, c, 0x96);
  }
  static Register Add(Register a, Register b) { return _mm512_add_epi64(a, b); }
  static uint32_t AppendBelow(const uint32_t* words, uint32_t limit,
                              uint32_t first, uint32_t* places) {
    static_assert(kLaneGroup == 16);
    const __m512i at =
        _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(first)),
                         _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
                                           12, 13, 14, 15));
    const __mmask16 below = _mm512_cmplt_epu32_mask(
        _mm512_load_si512(words), _mm512_set1_epi32(static_cast<int>(limit)));
    _mm512_storeu_si512(places, _mm512_maskz_compress_epi32(below, at));
    return static_cast<uint32_t>(__builtin_popcount(below));
  }
};

}  // namespace

constexpr LaneFunctions kLanesAvx512 = LanesOf<Avx512Vec>("avx512");

}  // namespace fgnn
