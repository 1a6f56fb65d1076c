// Compiled with -mavx2 -mfma; called only where SupportedProductKernels() has
// it.
#include <immintrin.h>

#include "trainer_service/nn/cpu/product_kernels_body.h"

namespace fgnn {
namespace {

// What both have; see ProductBody.
struct Avx2Lanes {
  using Register = __m256;
  static constexpr int64_t kWidth = 8;
  static constexpr int kRows = 4;  // 12 of 16 registers are sums.
  static constexpr double kMostToMultiply = 0.5;
  static Register Zero() { return _mm256_setzero_ps(); }
  static Register Load(const float* from) { return _mm256_loadu_ps(from); }
  static void Store(float* to, Register a) { _mm256_storeu_ps(to, a); }
  static __m256i FirstLanes(int64_t count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static Register LoadFirst(const float* from, __m256i lanes) {
    return _mm256_maskload_ps(from, lanes);
  }
  static void StoreFirst(float* to, __m256i lanes, Register a) {
    _mm256_maskstore_ps(to, lanes, a);
  }
};

struct Avx2Floats : Avx2Lanes {
  using Number = float;
  using Packed = __m256;
  static Packed LoadPacked(const float* from) { return _mm256_loadu_ps(from); }
  static Register MulAdd(float x, Register b, Register sum) {
    return _mm256_fmadd_ps(_mm256_set1_ps(x), b, sum);
  }
  static bool IsZero(float x) { return x == 0; }
  static uint32_t NotZero(const float* words) {
    return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(
        _mm256_loadu_ps(words), _mm256_setzero_ps(), _CMP_NEQ_UQ)));
  }
};

// Pairs as two floats each: a bfloat16 is the upper half of the float that it
// equals.
struct Avx2Pairs : Avx2Lanes {
  using Number = Bfloat16;
  using Packed = __m256i;
  static Packed LoadPacked(const Bfloat16* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  static Register MulAdd(uint32_t x, Packed b, Register sum) {
    const Packed pair = _mm256_set1_epi32(static_cast<int>(x));
    sum = _mm256_fmadd_ps(First(pair), First(b), sum);
    return _mm256_fmadd_ps(Second(pair), Second(b), sum);
  }
  static bool IsZero(uint32_t pair) { return (pair & 0x7fff7fffu) == 0; }
  static uint32_t NotZero(const Bfloat16* pairs) {
    const Packed magnitudes =
        _mm256_and_si256(LoadPacked(pairs), _mm256_set1_epi32(0x7fff7fff));
    const Packed zero = _mm256_cmpeq_epi32(magnitudes, _mm256_setzero_si256());
    return 0xffu ^
           static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(zero)));
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
