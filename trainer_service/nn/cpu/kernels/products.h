// Products of f32 or bfloat16 matrices, summed in f32, on the calling thread.
// Equal arguments at equal alignments give equal bits on one machine.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCTS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCTS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/compute/widen.h"

namespace fgnn {

template <typename Number>
struct ProductKernelsOf;  // product_kernels.h

// A row-major matrix without gaps, or its transpose. Borrowed. Number: float or
// Bfloat16.
template <typename Number>
struct FactorOf {
  const Number* data = nullptr;
  int64_t rows = 0;     // Rows of the stored matrix.
  int64_t columns = 0;  // Columns of the stored matrix.
  bool transposed = false;

  FactorOf T() const { return {data, rows, columns, !transposed}; }
};
using Factor = FactorOf<float>;

enum class Into : uint8_t { kOverwrite, kAdd };

// The right factor of products in the kernels' layout: weights, which are
// packed once and multiply many rows.
template <typename Number>
class PackedFactorOf {
 public:
  PackedFactorOf();
  explicit PackedFactorOf(const ProductKernelsOf<Number>& kernels)
      : kernels_(&kernels) {}

  // Copies b. std::bad_alloc.
  void Pack(const FactorOf<Number>& b);

  // Sets out [a's rows, columns()] = or += a * b; a is as stored. `out` does
  // not overlap a. If many of a's numbers are zeros, they are skipped.
  void Multiply(const FactorOf<Number>& a, Into into, float* out) const;

  // Returns a^T, of a as stored: a copy, valid until the next call. For
  // Bfloat16, zeros fill rows up to an even number, as in a packed b.
  // std::bad_alloc.
  FactorOf<Number> Transposed(const FactorOf<Number>& a);

  int64_t columns() const { return columns_; }

  // Returns the rows of both factors that ProductsOverRows() multiplies at a
  // time.
  int64_t rows_per_block() const;

 private:
  const ProductKernelsOf<Number>* kernels_;
  int64_t columns_ = 0;
  Scratch<std::byte> packed_;
  Scratch<Number> transposed_;
};
using PackedFactor = PackedFactorOf<float>;

// A factor [rows, columns] without gaps, and the place of its product.
template <typename Number>
struct RightFactor {
  const Number* data = nullptr;
  int64_t columns = 0;
  float* out = nullptr;
};

// Sets out [a's columns, columns] = a^T b for each b. a and b [rows, ...] are
// as stored; the sum is over their rows. What it packs on the way stays in
// `block`.
template <typename Number>
void ProductsOverRows(const FactorOf<Number>& a,
                      absl::Span<const RightFactor<Number>> factors,
                      PackedFactorOf<Number>* block);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCTS_H_
