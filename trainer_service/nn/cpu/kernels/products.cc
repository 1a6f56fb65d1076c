#include "trainer_service/nn/cpu/kernels/products.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "trainer_service/nn/cpu/kernels/product_kernels.h"

namespace fgnn {
namespace {

#if defined(__x86_64__)
// Returns true if the processor multiplies tiles of bfloat16 (AMX) and the
// kernel lets this process do so. A process must ask once, as the registers are
// large.
bool MayUseTiles() {
  static const bool may = [] {
    constexpr unsigned int kTilesOfBfloat16 = 1u << 22;
    constexpr unsigned int kTiles = 1u << 24;
    constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
    unsigned int eax = 0;
    unsigned int ebx = 0;
    unsigned int ecx = 0;
    unsigned int edx = 0;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 &&
           (edx & kTilesOfBfloat16) != 0 && (edx & kTiles) != 0 &&
           syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  }();
  return may;
}
#endif

}  // namespace

template <>
std::vector<const ProductKernels*> SupportedProductKernels<float>() {
  std::vector<const ProductKernels*> supported;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) supported.push_back(&kProductsAvx512);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    supported.push_back(&kProductsAvx2);
  }
#endif
  supported.push_back(&kProductsPortable);
  return supported;
}

template <>
std::vector<const ProductKernelsOf<Bfloat16>*>
SupportedProductKernels<Bfloat16>() {
  std::vector<const ProductKernelsOf<Bfloat16>*> supported;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bf16") && MayUseTiles()) {
    supported.push_back(&kBfloat16ProductsAmx);
  }
  if (__builtin_cpu_supports("avx512bf16")) {
    supported.push_back(&kBfloat16ProductsAvx512);
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    supported.push_back(&kBfloat16ProductsAvx2);
  }
#endif
  supported.push_back(&kBfloat16ProductsPortable);
  return supported;
}

template <typename Number>
PackedFactorOf<Number>::PackedFactorOf()
    : PackedFactorOf(*SupportedProductKernels<Number>().front()) {}

template <typename Number>
void PackedFactorOf<Number>::Pack(const FactorOf<Number>& b) {
  const int64_t rows = b.transposed ? b.columns : b.rows;
  columns_ = b.transposed ? b.rows : b.columns;
  kernels_->pack(b, packed_.Reserve(kernels_->packed_bytes(rows, columns_)));
}

template <typename Number>
void PackedFactorOf<Number>::Multiply(const FactorOf<Number>& a, Into into,
                                      float* out) const {
  kernels_->multiply(a, packed_.data(), columns_, into, out);
}

template <typename Number>
int64_t PackedFactorOf<Number>::rows_per_block() const {
  return kernels_->rows_per_block;
}

template <typename Number>
FactorOf<Number> PackedFactorOf<Number>::Transposed(const FactorOf<Number>& a) {
  constexpr bool kInPairs = std::is_same_v<Number, Bfloat16>;
  const int64_t rows = kInPairs ? (a.rows + 1) / 2 * 2 : a.rows;
  Number* const to = transposed_.Reserve(rows * a.columns);
  kernels_->transpose(a, to);
  return {to, a.columns, rows};
}

template <typename Number>
void ProductsOverRows(const FactorOf<Number>& a,
                      absl::Span<const RightFactor<Number>> factors,
                      PackedFactorOf<Number>* block) {
  Into into = Into::kOverwrite;
  int64_t first = 0;
  do {
    const int64_t rows = std::min(block->rows_per_block(), a.rows - first);
    const FactorOf<Number> left =
        block->Transposed({a.data + first * a.columns, rows, a.columns});
    for (const RightFactor<Number>& b : factors) {
      block->Pack({b.data + first * b.columns, rows, b.columns});
      block->Multiply(left, into, b.out);
    }
    into = Into::kAdd;
    first += rows;
  } while (first < a.rows);
}

template class PackedFactorOf<float>;
template class PackedFactorOf<Bfloat16>;
template void ProductsOverRows(const FactorOf<float>&,
                               absl::Span<const RightFactor<float>>,
                               PackedFactorOf<float>*);
template void ProductsOverRows(const FactorOf<Bfloat16>&,
                               absl::Span<const RightFactor<Bfloat16>>,
                               PackedFactorOf<Bfloat16>*);

}  // namespace fgnn
