#include "trainer_service/nn/cpu/products.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "trainer_service/nn/cpu/product_kernels.h"

namespace fgnn {
namespace {

// Of both factors; what is packed and what is transposed of them stays in the
// second-level cache while all tiles of the result pass by.
template <typename Number>
constexpr int64_t kRowsPerBlock = 256 / static_cast<int64_t>(sizeof(Number));

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
  supported.push_back(&kProductsLibtorch);
  return supported;
}

template <>
std::vector<const ProductKernelsOf<Bfloat16>*>
SupportedProductKernels<Bfloat16>() {
  std::vector<const ProductKernelsOf<Bfloat16>*> supported;
#if defined(__x86_64__)
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
  const int64_t count = kernels_->packed_numbers(rows, columns_);
  packed_ = static_cast<Number*>(
      buffer_.Reserve(static_cast<size_t>(count) * sizeof(Number)));
  kernels_->pack(b, packed_);
}

template <typename Number>
void PackedFactorOf<Number>::Multiply(const FactorOf<Number>& a, Into into,
                                      float* out) const {
  kernels_->multiply(a, packed_, columns_, into, out);
}

template <typename Number>
FactorOf<Number> PackedFactorOf<Number>::Transposed(const FactorOf<Number>& a) {
  constexpr bool kInPairs = std::is_same_v<Number, Bfloat16>;
  const int64_t rows = kInPairs ? (a.rows + 1) / 2 * 2 : a.rows;
  auto* const to = static_cast<Number*>(left_buffer_.Reserve(
      static_cast<size_t>(rows * a.columns) * sizeof(Number)));
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
    const int64_t rows = std::min(kRowsPerBlock<Number>, a.rows - first);
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
