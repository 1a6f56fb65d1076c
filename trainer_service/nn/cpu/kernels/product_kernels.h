// Products of matrices of Number, once for each instruction set.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCT_KERNELS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCT_KERNELS_H_

#include <bit>
#include <cstdint>
#include <vector>

#include "trainer_service/nn/cpu/kernels/products.h"

namespace fgnn {

// Number: float or Bfloat16.
template <typename Number>
struct ProductKernelsOf {
  const char* name;
  // Bytes that a factor [rows, columns] takes once it is packed.
  int64_t (*packed_bytes)(int64_t rows, int64_t columns);
  // `packed`, at a 64-byte boundary.
  void (*pack)(const FactorOf<Number>& b, void* packed);
  // out [a's rows, columns] = or += a * b, of a as stored and b packed; rows of
  // out lie `columns` floats apart. Every element is a sum in the order of b's
  // rows.
  void (*multiply)(const FactorOf<Number>& a, const void* packed,
                   int64_t columns, Into into, float* out);
  // to [a's columns, a's rows; of Bfloat16 rounded up to even]: a^T, of a as
  // stored, with zeros for a missing row.
  void (*transpose)(const FactorOf<Number>& a, Number* to);
  // Of both factors of a sum over rows that are multiplied at a time: what is
  // packed and transposed of them stays in the second-level cache while all
  // tiles of the result pass by.
  int64_t rows_per_block;
};
using ProductKernels = ProductKernelsOf<float>;

// Those that this machine can run, fastest first, never empty. Those of f32
// with fused multiply-adds, which come first, are equal in every bit;
// libtorch's are not. Those of bfloat16 differ in how they round sums.
template <typename Number = float>
std::vector<const ProductKernelsOf<Number>*> SupportedProductKernels();

// to [columns]: the numbers of two rows side by side, as words, of which
// compilers make vectors. Always inlined: files that use it are compiled for
// different processors.
inline __attribute__((always_inline)) void InterleaveRows(
    const Bfloat16* first, const Bfloat16* second, int64_t columns,
    uint32_t* to) {
  static_assert(std::endian::native == std::endian::little);
  for (int64_t c = 0; c < columns; ++c) {
    to[c] = first[c].bits | static_cast<uint32_t>(second[c].bits) << 16;
  }
}

// Of each; called only where SupportedProductKernels() has them.
extern const ProductKernels kProductsAvx512;
extern const ProductKernels kProductsAvx2;
extern const ProductKernels kProductsLibtorch;
extern const ProductKernelsOf<Bfloat16> kBfloat16ProductsAmx;
extern const ProductKernelsOf<Bfloat16> kBfloat16ProductsAvx512;
extern const ProductKernelsOf<Bfloat16> kBfloat16ProductsAvx2;
extern const ProductKernelsOf<Bfloat16> kBfloat16ProductsPortable;

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCT_KERNELS_H_
