// Compiled with -mavx2 -mfma; called only where SupportedProductKernels() has
// it.
#include <immintrin.h>

#include "trainer_service/nn/cpu/product_kernels_body.h"

namespace fgnn {
namespace {

struct Avx2Floats {
  using Register = __m256;
  static constexpr int64_t kWidth = 8;
  static constexpr int kRows = 4;  // 12 of 16 registers are sums.
  static Register Zero() { return _mm256_setzero_ps(); }
  static Register Load(const float* from) { return _mm256_loadu_ps(from); }
  static void Store(float* to, Register a) { _mm256_storeu_ps(to, a); }
  static Register MulAdd(float x, Register b, Register sum) {
    return _mm256_fmadd_ps(_mm256_set1_ps(x), b, sum);
  }
};

}  // namespace

constexpr ProductKernels kProductsAvx2 = ProductsOf<Avx2Floats>("avx2");

}  // namespace fgnn
