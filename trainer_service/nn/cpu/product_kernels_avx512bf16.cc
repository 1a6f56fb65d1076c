// Compiled with -mavx512bf16; called only where SupportedProductKernels() has
// it.
#include <immintrin.h>

#include "trainer_service/nn/cpu/product_kernels_body.h"

namespace fgnn {
namespace {

// VDPBF16PS takes subnormal numbers as zeros.
struct Avx512Pairs {
  using Number = Bfloat16;
  using Register = __m512;
  using Packed = __m512i;
  static constexpr int64_t kWidth = 16;
  static constexpr int kRows = 8;  // 24 of 32 registers are sums.
  static Register Zero() { return _mm512_setzero_ps(); }
  static Register Load(const float* from) { return _mm512_loadu_ps(from); }
  static Packed LoadPacked(const Bfloat16* from) {
    return _mm512_loadu_si512(from);
  }
  static void Store(float* to, Register a) { _mm512_storeu_ps(to, a); }
  static Register MulAdd(uint32_t x, Packed b, Register sum) {
    const Packed pair = _mm512_set1_epi32(static_cast<int>(x));
    return _mm512_dpbf16_ps(sum, (__m512bh)pair, (__m512bh)b);
  }
};

}  // namespace

constexpr ProductKernelsOf<Bfloat16> kBfloat16ProductsAvx512 =
    ProductsOf<Avx512Pairs>("avx512bf16");

}  // namespace fgnn
