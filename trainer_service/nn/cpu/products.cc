#include "trainer_service/nn/cpu/products.h"

#include <algorithm>
#include <cstddef>

#include "trainer_service/nn/cpu/product_kernels.h"

namespace fgnn {
namespace {

// Rows of the packed factor stay in the second-level cache while all tiles of
// the result pass by.
constexpr int64_t kRowsPerBlock = 256;

}  // namespace

std::vector<const ProductKernels*> SupportedProductKernels() {
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

PackedFactor::PackedFactor()
    : PackedFactor(*SupportedProductKernels().front()) {}

void PackedFactor::Pack(const Factor& b) {
  const int64_t rows = b.transposed ? b.columns : b.rows;
  columns_ = b.transposed ? b.rows : b.columns;
  packed_ = buffer_.Floats(
      static_cast<size_t>(kernels_->packed_floats(rows, columns_)));
  kernels_->pack(b, packed_);
}

void PackedFactor::Multiply(const Factor& a, Into into, float* out) const {
  kernels_->multiply(a, packed_, columns_, into, out);
}

void ProductOverRows(const Factor& a, const Factor& b, PackedFactor* block,
                     float* out) {
  Into into = Into::kOverwrite;
  int64_t first = 0;
  do {
    const int64_t rows = std::min(kRowsPerBlock, a.rows - first);
    block->Pack({b.data + first * b.columns, rows, b.columns});
    block->Multiply(Factor{a.data + first * a.columns, rows, a.columns}.T(),
                    into, out);
    into = Into::kAdd;
    first += rows;
  } while (first < a.rows);
}

}  // namespace fgnn
