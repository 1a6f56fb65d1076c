// Sums over the rows of a batch: the gradients of weights and biases. Sums are
// over chunks of rows, then over the chunks in their order, so that the bits do
// not depend on the number of threads.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_ROW_SUMS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_ROW_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/cpu/kernels/products.h"

namespace fgnn {

// Sums over the rows of one factor.
template <typename Number>
struct SumsOverRows {
  FactorOf<Number> a;  // As stored.
  // [a's columns] Place of the sum of a's rows; empty: it is not wanted.
  absl::Span<float> rows;
  // Factors b [a's rows, columns], and places [a's columns, columns] of a^T b.
  std::vector<RightFactor<Number>> products;
};

// All sums are in f32, over at least one row of floats or of Bfloat16. Borrows
// the team; keeps its buffers. Not thread-safe. May throw std::bad_alloc.
template <typename Number>
class RowSums {
 public:
  explicit RowSums(ThreadTeam* team)
      : team_(team), blocks_(static_cast<size_t>(team->size())) {}

  // Computes all of these sums. The products of one factor share its transposed
  // rows. Outputs do not overlap.
  absl::Status Of(absl::Span<const SumsOverRows<Number>> all);
  // Returns the sum of the products of a's and b's elements; they have one
  // shape.
  absl::StatusOr<float> OfElementProducts(const FactorOf<Number>& a,
                                          const FactorOf<Number>& b);
  // Calls add(first, count, sum) for chunks of all rows in [0, rows); the sums
  // [columns] of each start at zero. Adds them up to out [columns].
  using AddRows =
      absl::FunctionRef<void(int64_t first, int64_t count, float* sum)>;
  absl::Status OverChunks(int64_t rows, AddRows add, absl::Span<float> out);

 private:
  ThreadTeam* const team_;
  // Blocks of each worker for ProductsOverRows().
  std::vector<PackedFactorOf<Number>> blocks_;
  Scratch<float> partials_;
  Scratch<float> column_sums_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_ROW_SUMS_H_
