// Compiled with -mavx512bf16; called only where SupportedProductKernels() has
// it.
#include <immintrin.h>

#include "trainer_service/nn/cpu/kernels/avx512_lanes.h"
#include "trainer_service/nn/cpu/kernels/product_kernels_body.h"

namespace fgnn {
namespace {

// VDPBF16PS takes subnormal numbers as zeros.
struct Avx512Pairs : Avx512Lanes {
  using Number = Bfloat16;
  using Word = uint32_t;
  using Packed = __m512i;
  static constexpr double kMostToMultiply = 0.55;
  static Packed LoadPacked(const uint32_t* from) {
    return _mm512_loadu_si512(from);
  }
  static Register MulAdd(uint32_t x, Packed b, Register sum) {
    const Packed pair = _mm512_set1_epi32(static_cast<int>(x));
    return _mm512_dpbf16_ps(sum, (__m512bh)pair, (__m512bh)b);
  }
  static bool IsZero(uint32_t pair) { return (pair & 0x7fff7fffu) == 0; }
  static uint32_t NotZero(const Bfloat16* pairs) {
    return _mm512_test_epi32_mask(_mm512_loadu_si512(pairs),
                                  _mm512_set1_epi32(0x7fff7fff));
  }
  static void TransposeTile(const Bfloat16* from, int64_t from_stride,
                            Bfloat16* to, int64_t to_stride) {
    __m512i rows[kWidth];
    for (int i = 0; i < kWidth; ++i) {
      rows[i] = _mm512_or_si512(
          Widened(from + 2 * i * from_stride),
          _mm512_slli_epi32(Widened(from + (2 * i + 1) * from_stride), 16));
    }
    TransposeWords(rows);
    for (int i = 0; i < kWidth; ++i) {
      _mm512_storeu_si512(to + i * to_stride, rows[i]);
    }
  }

 private:
  static __m512i Widened(const Bfloat16* numbers) {
    return _mm512_cvtepu16_epi32(
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(numbers)));
  }
};

}  // namespace

constexpr ProductKernelsOf<Bfloat16> kBfloat16ProductsAvx512 =
    ProductsOf<Avx512Pairs>("avx512bf16");

}  // namespace fgnn
