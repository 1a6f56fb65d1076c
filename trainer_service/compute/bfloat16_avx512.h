// Rounds in registers. Only for files that are compiled with -mavx512bw.
#ifndef FGNN_TRAINER_SERVICE_COMPUTE_BFLOAT16_AVX512_H_
#define FGNN_TRAINER_SERVICE_COMPUTE_BFLOAT16_AVX512_H_

#include <immintrin.h>

namespace fgnn {
// Anonymous, as each file that includes this header is compiled for other
// processors.
namespace {

// Returns RoundToBfloat16() of 16 numbers, in the upper halves of words.
inline __m512i RoundInWords(__m512 numbers) {
  const __m512i bits = _mm512_castps_si512(numbers);
  const __m512i odd =
      _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded =
      _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
  const __mmask16 is_nan = _mm512_cmp_ps_mask(numbers, numbers, _CMP_UNORD_Q);
  return _mm512_mask_or_epi32(rounded, is_nan, bits,
                              _mm512_set1_epi32(0x400000));
}

// Returns 32 numbers of bfloat16.
inline __m512i RoundToBfloat16x32(__m512 low, __m512 high) {
  // Lanes 1, 3, ..., 63: the upper halves of both.
  const __m512i lanes =
      _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i upper =
      _mm512_or_si512(_mm512_set1_epi32(1 | 3 << 16),
                      _mm512_or_si512(_mm512_slli_epi32(lanes, 2),
                                      _mm512_slli_epi32(lanes, 18)));
  return _mm512_permutex2var_epi16(RoundInWords(low), upper,
                                   RoundInWords(high));
}

}  // namespace
}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMPUTE_BFLOAT16_AVX512_H_
