// The common part of products in registers of 512 bits. Only for files that are
// compiled with -mavx512f.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_AVX512_LANES_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_AVX512_LANES_H_

#include <immintrin.h>

#include <cstdint>

namespace fgnn {
// Anonymous, as each file that includes this header is compiled for other
// processors.
namespace {

// See ProductBody.
struct Avx512Lanes {
  using Register = __m512;
  static constexpr int64_t kWidth = 16;
  static constexpr int kRows = 8;
  static constexpr int kMostSums = 24;  // Most sums, of 32 registers.

  static Register Zero() { return _mm512_setzero_ps(); }
  static Register Load(const float* from) { return _mm512_loadu_ps(from); }
  static void Store(float* to, Register a) { _mm512_storeu_ps(to, a); }
  static __mmask16 FirstLanes(int64_t count) {
    return static_cast<__mmask16>((1u << count) - 1);
  }
  static Register LoadFirst(const float* from, __mmask16 lanes) {
    return _mm512_maskz_loadu_ps(lanes, from);
  }
  static void StoreFirst(float* to, __mmask16 lanes, Register a) {
    _mm512_mask_storeu_ps(to, lanes, a);
  }

  // Turns sixteen rows of sixteen words into columns: pairs of rows are
  // exchanged at distances 1, 2, 4 and 8.
  static inline __attribute__((always_inline)) void TransposeWords(
      __m512i (&rows)[16]) {
    __m512i t[16];
    for (int i = 0; i < 16; i += 2) {
      t[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
      t[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
    }
    // rows[4 i + j] is column j of each quarter of the rows 4 i to 4 i + 3.
    for (int i = 0; i < 16; i += 4) {
      rows[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
      rows[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
      rows[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
      rows[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int j = 0; j < 4; ++j) {
      t[j] = _mm512_shuffle_i32x4(rows[j], rows[j + 4], 0x88);
      t[j + 4] = _mm512_shuffle_i32x4(rows[j], rows[j + 4], 0xdd);
      t[j + 8] = _mm512_shuffle_i32x4(rows[j + 8], rows[j + 12], 0x88);
      t[j + 12] = _mm512_shuffle_i32x4(rows[j + 8], rows[j + 12], 0xdd);
    }
    for (int j = 0; j < 4; ++j) {
      rows[j] = _mm512_shuffle_i32x4(t[j], t[j + 8], 0x88);
      rows[j + 8] = _mm512_shuffle_i32x4(t[j], t[j + 8], 0xdd);
      rows[j + 4] = _mm512_shuffle_i32x4(t[j + 4], t[j + 12], 0x88);
      rows[j + 12] = _mm512_shuffle_i32x4(t[j + 4], t[j + 12], 0xdd);
    }
  }
};

}  // namespace
}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_AVX512_LANES_H_
