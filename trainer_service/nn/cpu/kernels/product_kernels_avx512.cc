// Compiled with -mavx512f; called only where SupportedProductKernels() has it.
#include <immintrin.h>

#include "trainer_service/nn/cpu/kernels/avx512_lanes.h"
#include "trainer_service/nn/cpu/kernels/product_kernels_body.h"

namespace fgnn {
namespace {

struct Avx512Floats : Avx512Lanes {
  using Number = float;
  using Word = float;
  using Packed = __m512;
  static constexpr double kMostToMultiply = 0.6;
  static Packed LoadPacked(const float* from) { return _mm512_loadu_ps(from); }
  static Register MulAdd(float x, Register b, Register sum) {
    return _mm512_fmadd_ps(_mm512_set1_ps(x), b, sum);
  }
  static bool IsZero(float x) { return x == 0; }
  static uint32_t NotZero(const float* words) {
    return _mm512_cmp_ps_mask(_mm512_loadu_ps(words), _mm512_setzero_ps(),
                              _CMP_NEQ_UQ);
  }
  static void TransposeTile(const float* from, int64_t from_stride, float* to,
                            int64_t to_stride) {
    __m512i rows[kWidth];
    for (int i = 0; i < kWidth; ++i) {
      rows[i] = _mm512_loadu_si512(from + i * from_stride);
    }
    TransposeWords(rows);
    for (int i = 0; i < kWidth; ++i) {
      _mm512_storeu_si512(to + i * to_stride, rows[i]);
    }
  }
};

}  // namespace

constexpr ProductKernels kProductsAvx512 = ProductsOf<Avx512Floats>("avx512");

}  // namespace fgnn
