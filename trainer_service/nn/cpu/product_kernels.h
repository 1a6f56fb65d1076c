// Products of f32 matrices, once for each instruction set.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_PRODUCT_KERNELS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_PRODUCT_KERNELS_H_

#include <cstdint>
#include <vector>

#include "trainer_service/nn/cpu/products.h"

namespace fgnn {

struct ProductKernels {
  const char* name;
  // Floats that a factor [rows, columns] takes once it is packed.
  int64_t (*packed_floats)(int64_t rows, int64_t columns);
  // `packed`, at a 64-byte boundary.
  void (*pack)(const Factor& b, float* packed);
  // out [a's rows, columns] = or += a * b, of b packed; rows of out lie
  // `columns` floats apart. Every element is a sum in the order of b's rows.
  void (*multiply)(const Factor& a, const float* packed, int64_t columns,
                   Into into, float* out);
};

// Those that this machine can run, fastest first, never empty. The first ones,
// with fused multiply-adds, are equal in every bit; libtorch's are not.
std::vector<const ProductKernels*> SupportedProductKernels();

// Of each; called only where SupportedProductKernels() has them.
extern const ProductKernels kProductsAvx512;
extern const ProductKernels kProductsAvx2;
extern const ProductKernels kProductsLibtorch;

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_PRODUCT_KERNELS_H_
