// Products of f32 matrices, on the calling thread. Equal arguments at equal
// alignments give equal bits on one machine.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_PRODUCTS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_PRODUCTS_H_

#include <cstdint>
#include <string>

#include "trainer_service/compute/aligned_buffer.h"

namespace fgnn {

struct ProductKernels;  // product_kernels.h

// A row-major matrix without gaps, or its transpose. Borrowed.
struct Factor {
  const float* data = nullptr;
  int64_t rows = 0;     // As stored.
  int64_t columns = 0;  // As stored.
  bool transposed = false;

  Factor T() const { return {data, rows, columns, !transposed}; }
};

enum class Into : uint8_t { kOverwrite, kAdd };

// The right factor of products, laid out for the kernels: weights, which are
// packed once and multiply many rows.
class PackedFactor {
 public:
  PackedFactor();
  explicit PackedFactor(const ProductKernels& kernels) : kernels_(&kernels) {}

  // Copies b. std::bad_alloc.
  void Pack(const Factor& b);

  // out [a's rows, columns()] = or += a * b. `out` does not overlap a.
  void Multiply(const Factor& a, Into into, float* out) const;

  int64_t columns() const { return columns_; }

 private:
  const ProductKernels* kernels_;
  int64_t columns_ = 0;
  float* packed_ = nullptr;
  AlignedBuffer buffer_;
};

// out [a's columns, b's columns] = a^T b, of a and b [rows, ...] as stored: the
// sum over their rows. What it packs on the way stays in `block`.
void ProductOverRows(const Factor& a, const Factor& b, PackedFactor* block,
                     float* out);

// The library that processors without AVX2 multiply by, and its version:
// "libtorch 2.11.0".
std::string ProductsLibrary();

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_PRODUCTS_H_
