// Products of matrices of Number, one implementation per instruction set.
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
  // Returns the bytes of a factor [rows, columns] in packed form.
  int64_t (*packed_bytes)(int64_t rows, int64_t columns);
  // Packs b. `packed` lies at a 64-byte boundary.
  void (*pack)(const FactorOf<Number>& b, void* packed);
  // Sets out [a's rows, columns] = or += a * b; a is as stored, b is packed.
  // Rows of out lie `columns` floats apart. Every element is a sum in the order
  // of b's rows.
  void (*multiply)(const FactorOf<Number>& a, const void* packed,
                   int64_t columns, Into into, float* out);
  // Writes a^T, of a as stored, to `to` [a's columns, a's rows]. For Bfloat16
  // the number of rows is rounded up to even, with zeros for the missing row.
  void (*transpose)(const FactorOf<Number>& a, Number* to);
  // Rows of both factors of a sum over rows that are multiplied at a time.
  // Their packed and transposed form stays in the second-level cache while all
  // tiles of the result are computed.
  int64_t rows_per_block;
};
using ProductKernels = ProductKernelsOf<float>;

// Returns the kernels that this machine can run, fastest first, never empty.
// The f32 kernels of AVX-512 and AVX2 come first and are equal in every bit;
// the portable one is not, unless the processor always has fused multiply-adds.
// The bfloat16 kernels differ in how they round sums.
template <typename Number = float>
std::vector<const ProductKernelsOf<Number>*> SupportedProductKernels();

// Writes the numbers of two rows side by side, as words, to [columns];
// compilers vectorise it. Always inlined: files that use it are compiled for
// different processors.
inline __attribute__((always_inline)) void InterleaveRows(
    const Bfloat16* first, const Bfloat16* second, int64_t columns,
    uint32_t* to) {
  static_assert(std::endian::native == std::endian::little);
  for (int64_t c = 0; c < columns; ++c) {
    to[c] = first[c].bits | static_cast<uint32_t>(second[c].bits) << 16;
  }
}

// The kernels of each instruction set. They may be called only if
// SupportedProductKernels() has them.
extern const ProductKernels kProductsAvx512;
extern const ProductKernels kProductsAvx2;
extern const ProductKernels kProductsPortable;
extern const ProductKernelsOf<Bfloat16> kBfloat16ProductsAmx;
extern const ProductKernelsOf<Bfloat16> kBfloat16ProductsAvx512;
extern const ProductKernelsOf<Bfloat16> kBfloat16ProductsAvx2;
extern const ProductKernelsOf<Bfloat16> kBfloat16ProductsPortable;

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCT_KERNELS_H_
