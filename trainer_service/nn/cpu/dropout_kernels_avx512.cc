// Compiled with -mavx512f; called only where the processor has it.
#include <immintrin.h>

#include "trainer_service/nn/cpu/dropout_kernels.h"

namespace fgnn {
namespace {

// Philox4x32 of eight counters. Each word is the lower half of a lane of 64
// bits, of which VPMULUDQ reads no more: what is above it may be anything.
struct Counters {
  __m512i words[4];
};

// Of the counters from `first` on.
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

struct Rule {
  __m512i threshold;
  __m512 scale;
  bool relu;
};

// 16 values with the words of 8 counters each.
inline void Drop(const Rule& rule, __m512i low_words, __m512i high_words,
                 float* values) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20,
                                         22, 24, 26, 28, 30);
  const __m512i words = _mm512_permutex2var_epi32(low_words, even, high_words);
  __mmask16 kept = _mm512_cmpge_epu32_mask(words, rule.threshold);
  const __m512 value = _mm512_loadu_ps(values);
  // Not below zero: NaN stays.
  if (rule.relu) {
    kept =
        _mm512_mask_cmp_ps_mask(kept, value, _mm512_setzero_ps(), _CMP_NLT_UQ);
  }
  _mm512_storeu_ps(values, _mm512_maskz_mul_ps(kept, value, rule.scale));
}

}  // namespace

void DropTilesAvx512(const Dropout& dropout, bool relu, int64_t first,
                     int64_t count, float* values) {
  const Rule rule = {
      .threshold = _mm512_set1_epi32(static_cast<int>(dropout.threshold)),
      .scale = _mm512_set1_ps(dropout.scale),
      .relu = relu};
  for (int64_t at = 0; at < count; at += kDropoutTile) {
    const uint64_t counter = static_cast<uint64_t>(first + at) / 4;
    Counters low = CountersFrom(counter);
    Counters high = CountersFrom(counter + 8);
    PhiloxKey key = dropout.key;
    for (int round = 0; round < 10; ++round) {
      Round(key, &low);
      Round(key, &high);
      key.word0 += 0x9E3779B9u;
      key.word1 += 0xBB67AE85u;
    }
    for (int j = 0; j < 4; ++j) {
      Drop(rule, low.words[j], high.words[j], values + at + 16 * j);
    }
  }
}

}  // namespace fgnn
