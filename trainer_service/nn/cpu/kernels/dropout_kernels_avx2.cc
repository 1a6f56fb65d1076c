// Compiled with -mavx2; called only where the processor has it.
#include <immintrin.h>

#include "trainer_service/nn/cpu/kernels/dropout_kernels_body.h"

namespace fgnn {
namespace {

// Philox4x32 of four counters. Each word is the lower half of a lane of 64
// bits. VPMULUDQ reads only that half, so the upper half may have any value.
struct Counters {
  __m256i words[4];
};

inline __m256i Repeat(uint32_t word) {
  return _mm256_set1_epi32(static_cast<int>(word));
}

// Returns the counters from `first` on.
inline Counters CountersFrom(uint64_t first) {
  const __m256i counters =
      _mm256_add_epi64(_mm256_set1_epi64x(static_cast<int64_t>(first)),
                       _mm256_setr_epi64x(0, 1, 2, 3));
  const __m256i zero = _mm256_setzero_si256();
  return {{counters, _mm256_srli_epi64(counters, 32), zero, zero}};
}

inline void Round(PhiloxKey key, Counters* c) {
  const __m256i p0 = _mm256_mul_epu32(c->words[0], Repeat(0xD2511F53u));
  const __m256i p1 = _mm256_mul_epu32(c->words[2], Repeat(0xCD9E8D57u));
  c->words[0] =
      _mm256_xor_si256(_mm256_srli_epi64(p1, 32),
                       _mm256_xor_si256(c->words[1], Repeat(key.word0)));
  c->words[2] =
      _mm256_xor_si256(_mm256_srli_epi64(p0, 32),
                       _mm256_xor_si256(c->words[3], Repeat(key.word1)));
  c->words[1] = p1;
  c->words[3] = p0;
}

// Returns the lower halves of the lanes of both, in their order.
inline __m256i LowerHalves(__m256i first, __m256i second) {
  const __m256 halves = _mm256_shuffle_ps(_mm256_castsi256_ps(first),
                                          _mm256_castsi256_ps(second), 0x88);
  return _mm256_permute4x64_epi64(_mm256_castps_si256(halves), 0xd8);
}

// The halves of a tile's words, in the order of their elements: 16 halves,
// eight times.
struct Halves {
  __m256i of[8];
};

inline Halves HalvesOf(PhiloxKey key, int64_t first) {
  const uint64_t counter = static_cast<uint64_t>(first) / 8;
  Counters counters[4];
  for (uint64_t i = 0; i < 4; ++i) counters[i] = CountersFrom(counter + 4 * i);
  for (int round = 0; round < 10; ++round) {
    for (Counters& each : counters) Round(key, &each);
    key.word0 += 0x9E3779B9u;
    key.word1 += 0xBB67AE85u;
  }
  Halves halves;
  for (int j = 0; j < 4; ++j) {
    halves.of[2 * j] = LowerHalves(counters[0].words[j], counters[1].words[j]);
    halves.of[2 * j + 1] =
        LowerHalves(counters[2].words[j], counters[3].words[j]);
  }
  return halves;
}

// Returns zero where not all bits of `kept` are set or, if kRelu, where the
// value is below zero. NaN is not below zero.
template <bool kRelu>
inline __m256 Kept(__m128i kept, __m256 value, __m256 scale) {
  __m256 lanes = _mm256_castsi256_ps(_mm256_cvtepi16_epi32(kept));
  if (kRelu) {
    lanes = _mm256_and_ps(
        lanes, _mm256_cmp_ps(value, _mm256_setzero_ps(), _CMP_NLT_UQ));
  }
  return _mm256_and_ps(lanes, _mm256_mul_ps(value, scale));
}

inline void Store16(__m256 low, __m256 high, float* to) {
  _mm256_storeu_ps(to, low);
  _mm256_storeu_ps(to + 8, high);
}

// Returns RoundToBfloat16() of 8 numbers, in the lower halves of words.
inline __m256i RoundInWords(__m256 numbers) {
  const __m256i bits = _mm256_castps_si256(numbers);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), Repeat(1));
  const __m256i rounded =
      _mm256_add_epi32(_mm256_add_epi32(bits, Repeat(0x7fff)), odd);
  const __m256i quiet = _mm256_or_si256(bits, Repeat(0x400000));
  const __m256 is_nan = _mm256_cmp_ps(numbers, numbers, _CMP_UNORD_Q);
  return _mm256_srli_epi32(
      _mm256_blendv_epi8(rounded, quiet, _mm256_castps_si256(is_nan)), 16);
}

inline void Store16(__m256 low, __m256 high, Bfloat16* to) {
  const __m256i packed =
      _mm256_packus_epi32(RoundInWords(low), RoundInWords(high));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                      _mm256_permute4x64_epi64(packed, 0xd8));
}

// See DropoutBody.
struct Avx2Tiles {
  static __m256 Load(const float* from) { return _mm256_loadu_ps(from); }
  static __m256 Add(__m256 a, __m256 b) { return _mm256_add_ps(a, b); }
  template <bool kRelu, typename Load, typename Number>
  static inline __attribute__((always_inline)) void DropTile(
      const Dropout& dropout, int64_t element, const Load& load, Number* to) {
    const __m256i threshold =
        _mm256_set1_epi16(static_cast<int16_t>(dropout.threshold));
    const __m256 scale = _mm256_set1_ps(dropout.scale);
    Halves halves = {};
    if (dropout.active()) halves = HalvesOf(dropout.key, element);
    for (int j = 0; j < 8; ++j) {
      // A half is not below the threshold if it is the larger of both.
      const __m256i kept = _mm256_cmpeq_epi16(
          _mm256_max_epu16(halves.of[j], threshold), halves.of[j]);
      Store16(Kept<kRelu>(_mm256_castsi256_si128(kept), load(16 * j), scale),
              Kept<kRelu>(_mm256_extracti128_si256(kept, 1), load(16 * j + 8),
                          scale),
              to + 16 * j);
    }
  }
};

}  // namespace

constexpr DropoutKernels kDropoutAvx2 = DropoutOf<Avx2Tiles>();

}  // namespace fgnn
