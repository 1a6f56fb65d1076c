// Compiled with -mavx512bw; called only where the processor has it.
#include <immintrin.h>

#include "trainer_service/compute/bfloat16_avx512.h"
#include "trainer_service/nn/cpu/kernels/dropout_kernels_body.h"

namespace fgnn {
namespace {

// Philox4x32 of eight counters. Each word is the lower half of a lane of 64
// bits. VPMULUDQ reads only that half, so the upper half may have any value.
struct Counters {
  __m512i words[4];
};

// Returns the counters from `first` on.
inline Counters CountersFrom(uint64_t first) {
  const __m512i lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
  const __m512i counters =
      _mm512_add_epi64(_mm512_set1_epi64(static_cast<int64_t>(first)), lanes);
  const __m512i zero = _mm512_setzero_si512();
  return {{counters, _mm512_srli_epi64(counters, 32), zero, zero}};
}

inline void Round(PhiloxKey key, Counters* c) {
  const __m512i p0 =
      _mm512_mul_epu32(c->words[0], _mm512_set1_epi64(0xD2511F53u));
  const __m512i p1 =
      _mm512_mul_epu32(c->words[2], _mm512_set1_epi64(0xCD9E8D57u));
  const __m512i key0 = _mm512_set1_epi32(static_cast<int>(key.word0));
  const __m512i key1 = _mm512_set1_epi32(static_cast<int>(key.word1));
  constexpr int kXorOfThree = 0x96;
  c->words[0] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p1, 32),
                                          c->words[1], key0, kXorOfThree);
  c->words[2] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p0, 32),
                                          c->words[3], key1, kXorOfThree);
  c->words[1] = p1;
  c->words[3] = p0;
}

// The halves of a tile's words, in the order of their elements: 32 halves, four
// times.
struct Halves {
  __m512i of[4];
};

inline Halves HalvesOf(PhiloxKey key, int64_t first) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20,
                                         22, 24, 26, 28, 30);
  const uint64_t counter = static_cast<uint64_t>(first) / 8;
  Counters low = CountersFrom(counter);
  Counters high = CountersFrom(counter + 8);
  for (int round = 0; round < 10; ++round) {
    Round(key, &low);
    Round(key, &high);
    key.word0 += 0x9E3779B9u;
    key.word1 += 0xBB67AE85u;
  }
  Halves halves;
  for (int j = 0; j < 4; ++j) {
    halves.of[j] = _mm512_permutex2var_epi32(low.words[j], even, high.words[j]);
  }
  return halves;
}

// Returns zero where the element is not kept or, if kRelu, where the value is
// below zero. NaN is not below zero.
template <bool kRelu>
inline __m512 Kept(__mmask16 kept, __m512 value, __m512 scale) {
  if (kRelu) {
    kept =
        _mm512_mask_cmp_ps_mask(kept, value, _mm512_setzero_ps(), _CMP_NLT_UQ);
  }
  return _mm512_maskz_mul_ps(kept, value, scale);
}

inline void Store32(__m512 low, __m512 high, float* to) {
  _mm512_storeu_ps(to, low);
  _mm512_storeu_ps(to + 16, high);
}

inline void Store32(__m512 low, __m512 high, Bfloat16* to) {
  _mm512_storeu_si512(to, RoundToBfloat16x32(low, high));
}

// See DropoutBody.
struct Avx512Tiles {
  static __m512 Load(const float* from) { return _mm512_loadu_ps(from); }
  static __m512 Add(__m512 a, __m512 b) { return _mm512_add_ps(a, b); }
  template <bool kRelu, typename Load, typename Number>
  static inline __attribute__((always_inline)) void DropTile(
      const Dropout& dropout, int64_t element, const Load& load, Number* to) {
    const __m512i threshold =
        _mm512_set1_epi16(static_cast<int16_t>(dropout.threshold));
    const __m512 scale = _mm512_set1_ps(dropout.scale);
    Halves halves = {};
    if (dropout.active()) halves = HalvesOf(dropout.key, element);
    for (int j = 0; j < 4; ++j) {
      const __mmask32 kept = _mm512_cmpge_epu16_mask(halves.of[j], threshold);
      Store32(Kept<kRelu>(static_cast<__mmask16>(kept), load(32 * j), scale),
              Kept<kRelu>(static_cast<__mmask16>(kept >> 16), load(32 * j + 16),
                          scale),
              to + 32 * j);
    }
  }
};

}  // namespace

constexpr DropoutKernels kDropoutAvx512 = DropoutOf<Avx512Tiles>();

}  // namespace fgnn
