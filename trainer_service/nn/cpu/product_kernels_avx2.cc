// Compiled with -mavx2 -mfma; called only where SupportedProductKernels() has
// it.
#include <immintrin.h>

#include "trainer_service/nn/cpu/product_kernels_body.h"

namespace fgnn {
namespace {

struct Avx2Floats {
  using Number = float;
  using Register = __m256;
  using Packed = __m256;
  static constexpr int64_t kWidth = 8;
  static constexpr int kRows = 4;  // 12 of 16 registers are sums.
  static Register Zero() { return _mm256_setzero_ps(); }
  static Register Load(const float* from) { return _mm256_loadu_ps(from); }
  static Packed LoadPacked(const float* from) { return _mm256_loadu_ps(from); }
  static void Store(float* to, Register a) { _mm256_storeu_ps(to, a); }
  static Register MulAdd(float x, Register b, Register sum) {
    return _mm256_fmadd_ps(_mm256_set1_ps(x), b, sum);
  }
};

// Pairs as two floats each: a bfloat16 is the upper half of the float that it
// equals.
struct Avx2Pairs {
  using Number = Bfloat16;
  using Register = __m256;
  using Packed = __m256i;
  static constexpr int64_t kWidth = 8;
  static constexpr int kRows = 4;
  static Register Zero() { return _mm256_setzero_ps(); }
  static Register Load(const float* from) { return _mm256_loadu_ps(from); }
  static Packed LoadPacked(const Bfloat16* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  static void Store(float* to, Register a) { _mm256_storeu_ps(to, a); }
  static Register MulAdd(uint32_t x, Packed b, Register sum) {
    const Packed pair = _mm256_set1_epi32(static_cast<int>(x));
    sum = _mm256_fmadd_ps(First(pair), First(b), sum);
    return _mm256_fmadd_ps(Second(pair), Second(b), sum);
  }

 private:
  static Register First(Packed pairs) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
  }
  static Register Second(Packed pairs) {
    return _mm256_castsi256_ps(
        _mm256_and_si256(pairs, _mm256_set1_epi32(-0x10000)));
  }
};

}  // namespace

constexpr ProductKernels kProductsAvx2 = ProductsOf<Avx2Floats>("avx2");
constexpr ProductKernelsOf<Bfloat16> kBfloat16ProductsAvx2 =
    ProductsOf<Avx2Pairs>("avx2");

}  // namespace fgnn
