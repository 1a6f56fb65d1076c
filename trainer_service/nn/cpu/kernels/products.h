// Products of f32 or bfloat16 matrices, summed in f32, on the calling thread.
// Equal arguments at equal alignments give equal bits on one machine.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCTS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCTS_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "trainer_service/compute/aligned_buffer.h"
#include "trainer_service/compute/widen.h"

namespace fgnn {

template <typename Number>
struct ProductKernelsOf;  // product_kernels.h

// A row-major matrix without gaps, or its transpose. Borrowed. Number: float or
// Bfloat16.
template <typename Number>
struct FactorOf {
  const Number* data = nullptr;
  int64_t rows = 0;     // As stored.
  int64_t columns = 0;  // As stored.
  bool transposed = false;

  FactorOf T() const { return {data, rows, columns, !transposed}; }
};
using Factor = FactorOf<float>;

enum class Into : uint8_t { kOverwrite, kAdd };

// The right factor of products, laid out for the kernels: weights, which are
// packed once and multiply many rows.
template <typename Number>
class PackedFactorOf {
 public:
  PackedFactorOf();
  explicit PackedFactorOf(const ProductKernelsOf<Number>& kernels)
      : kernels_(&kernels) {}

  // Copies b. std::bad_alloc.
  void Pack(const FactorOf<Number>& b);

  // out [a's rows, columns()] = or += a * b, of a as stored. `out` does not
  // overlap a. Where many of a's numbers are zeros, they are passed over.
  void Multiply(const FactorOf<Number>& a, Into into, float* out) const;

  // a^T, of a as stored: a copy, valid until the next one. Of Bfloat16, rows
  // are filled up to an even number by zeros, as those of a packed b are.
  // std::bad_alloc.
  FactorOf<Number> Transposed(const FactorOf<Number>& a);

  int64_t columns() const { return columns_; }

  // Rows of both factors that ProductsOverRows() multiplies at a time.
  int64_t rows_per_block() const;

 private:
  const ProductKernelsOf<Number>* kernels_;
  int64_t columns_ = 0;
  void* packed_ = nullptr;
  AlignedBuffer buffer_;
  AlignedBuffer left_buffer_;  // Of Transposed().
};
using PackedFactor = PackedFactorOf<float>;

// A factor [rows, columns] without gaps, and where its product goes.
template <typename Number>
struct RightFactor {
  const Number* data = nullptr;
  int64_t columns = 0;
  float* out = nullptr;
};

// out [a's columns, columns] = a^T b of each b, of a and b [rows, ...] as
// stored: the sum over their rows. What it packs on the way stays in `block`.
template <typename Number>
void ProductsOverRows(const FactorOf<Number>& a,
                      absl::Span<const RightFactor<Number>> factors,
                      PackedFactorOf<Number>* block);

// The same of one b.
template <typename Number>
void ProductOverRows(const FactorOf<Number>& a, const FactorOf<Number>& b,
                     PackedFactorOf<Number>* block, float* out) {
  const RightFactor<Number> factor = {b.data, b.columns, out};
  ProductsOverRows<Number>(a, absl::MakeConstSpan(&factor, 1), block);
}

// The library that processors without AVX2 multiply f32 by, and its version:
// "libtorch 2.11.0".
std::string ProductsLibrary();

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCTS_H_
