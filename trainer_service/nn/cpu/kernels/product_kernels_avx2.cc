// Compiled with -mavx2 -mfma; called only where SupportedProductKernels() has
// it.
#include <immintrin.h>

#include "trainer_service/nn/cpu/kernels/product_kernels_body.h"

namespace fgnn {
namespace {

// The common part of both kernels; see ProductBody.
struct Avx2Lanes {
  using Register = __m256;
  using Word = float;
  using Packed = __m256;
  static constexpr int64_t kWidth = 8;
  static constexpr int kRows = 6;
  static constexpr int kMostSums = 12;  // Most sums, of 16 registers.
  static constexpr double kMostToMultiply = 0.55;
  static Register Zero() { return _mm256_setzero_ps(); }
  static Register Load(const float* from) { return _mm256_loadu_ps(from); }
  static void Store(float* to, Register a) { _mm256_storeu_ps(to, a); }
  struct Lanes {
    __m256i mask;
    int64_t count;
  };
  static Lanes FirstLanes(int64_t count) {
    return {_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                               _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
            count};
  }
  static Register LoadFirst(const float* from, const Lanes& lanes) {
    return _mm256_maskload_ps(from, lanes.mask);
  }
  // Masked stores take dozens of cycles on some processors, so they are not
  // used.
  static void StoreFirst(float* to, const Lanes& lanes, Register a) {
    if (lanes.count == kWidth) {
      Store(to, a);
      return;
    }
    __m128 left = _mm256_castps256_ps128(a);
    if ((lanes.count & 4) != 0) {
      _mm_storeu_ps(to, left);
      left = _mm256_extractf128_ps(a, 1);
      to += 4;
    }
    if ((lanes.count & 2) != 0) {
      _mm_storel_pi(reinterpret_cast<__m64*>(to), left);
      left = _mm_movehl_ps(left, left);
      to += 2;
    }
    if ((lanes.count & 1) != 0) _mm_store_ss(to, left);
  }
  static Packed LoadPacked(const float* from) { return _mm256_loadu_ps(from); }
  static Register MulAdd(float x, Register b, Register sum) {
    return _mm256_fmadd_ps(_mm256_set1_ps(x), b, sum);
  }
  static bool IsZero(float x) { return x == 0; }
};

struct Avx2Floats : Avx2Lanes {
  using Number = float;
  static uint32_t NotZero(const float* words) {
    return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(
        _mm256_loadu_ps(words), _mm256_setzero_ps(), _CMP_NEQ_UQ)));
  }
  // Pairs of rows are exchanged at distances 1, 2 and 4.
  static void TransposeTile(const float* from, int64_t from_stride, float* to,
                            int64_t to_stride) {
    __m256 rows[kWidth];
    __m256 t[kWidth];
    for (int i = 0; i < kWidth; ++i) {
      rows[i] = _mm256_loadu_ps(from + i * from_stride);
    }
    for (int i = 0; i < kWidth; i += 2) {
      t[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
      t[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
    }
    // rows[4 i + j] is column j of each half of the rows 4 i to 4 i + 3.
    for (int i = 0; i < kWidth; i += 4) {
      rows[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
      rows[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
      rows[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
      rows[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    for (int j = 0; j < 4; ++j) {
      _mm256_storeu_ps(to + j * to_stride,
                       _mm256_permute2f128_ps(rows[j], rows[j + 4], 0x20));
      _mm256_storeu_ps(to + (j + 4) * to_stride,
                       _mm256_permute2f128_ps(rows[j], rows[j + 4], 0x31));
    }
  }
};

// Multiplies bfloat16 as the floats that they equal.
struct Avx2Bfloat16s : Avx2Lanes {
  using Number = Bfloat16;
  static uint32_t NotZero(const Bfloat16* numbers) {
    const __m128i magnitudes =
        _mm_and_si128(Load8(numbers), _mm_set1_epi16(0x7fff));
    const __m128i zero = _mm_cmpeq_epi16(magnitudes, _mm_setzero_si128());
    return 0xffu ^ static_cast<uint32_t>(
                       _mm_movemask_epi8(_mm_packs_epi16(zero, zero)) & 0xff);
  }
  static void TransposeTile(const Bfloat16* from, int64_t from_stride,
                            Bfloat16* to, int64_t to_stride) {
    __m128i rows[kWidth];
    __m128i t[kWidth];
    for (int i = 0; i < kWidth; ++i) rows[i] = Load8(from + i * from_stride);
    // Rows four apart are interleaved, three times over. Each time a row's
    // place in its eight moves one bit up, and a column's takes the bit that is
    // left.
    for (int i = 0; i < 4; ++i) {
      t[2 * i] = _mm_unpacklo_epi16(rows[i], rows[i + 4]);
      t[2 * i + 1] = _mm_unpackhi_epi16(rows[i], rows[i + 4]);
    }
    for (int i = 0; i < 4; ++i) {
      rows[2 * i] = _mm_unpacklo_epi16(t[i], t[i + 4]);
      rows[2 * i + 1] = _mm_unpackhi_epi16(t[i], t[i + 4]);
    }
    for (int i = 0; i < 4; ++i) {
      Store8(to + 2 * i * to_stride, _mm_unpacklo_epi16(rows[i], rows[i + 4]));
      Store8(to + (2 * i + 1) * to_stride,
             _mm_unpackhi_epi16(rows[i], rows[i + 4]));
    }
  }

 private:
  static __m128i Load8(const Bfloat16* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  }
  static void Store8(Bfloat16* to, __m128i numbers) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), numbers);
  }
};

}  // namespace

constexpr ProductKernels kProductsAvx2 = ProductsOf<Avx2Floats>("avx2");
constexpr ProductKernelsOf<Bfloat16> kBfloat16ProductsAvx2 =
    ProductsOf<Avx2Bfloat16s>("avx2");

}  // namespace fgnn
