// Compiled with -mavx512f; called only where SupportedProductKernels() has it.
#include <immintrin.h>

#include "trainer_service/nn/cpu/product_kernels_body.h"

namespace fgnn {
namespace {

struct Avx512Floats {
  using Number = float;
  using Register = __m512;
  using Packed = __m512;
  static constexpr int64_t kWidth = 16;
  static constexpr int kRows = 8;  // 24 of 32 registers are sums.
  static Register Zero() { return _mm512_setzero_ps(); }
  static Register Load(const float* from) { return _mm512_loadu_ps(from); }
  static Packed LoadPacked(const float* from) { return _mm512_loadu_ps(from); }
  static void Store(float* to, Register a) { _mm512_storeu_ps(to, a); }
  static Register MulAdd(float x, Register b, Register sum) {
    return _mm512_fmadd_ps(_mm512_set1_ps(x), b, sum);
  }
};

}  // namespace

constexpr ProductKernels kProductsAvx512 = ProductsOf<Avx512Floats>("avx512");

}  // namespace fgnn
