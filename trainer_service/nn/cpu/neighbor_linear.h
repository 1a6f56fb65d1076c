// A linear map of sums over vertices and their neighbours, forwards and
// backwards:
//   y_v = b + W s_v, where s_v is one of
//     mean({x_v} + {x_u: u in N(v)})
//     (1 + eps) x_v + sum_{u in N(v)} x_u
// S sources and D destinations of a block, `in` and `out` columns.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_NEIGHBOR_LINEAR_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_NEIGHBOR_LINEAR_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/minibatch/task.h"
#include "trainer_service/compute/aligned_buffer.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/cpu/dropout.h"
#include "trainer_service/nn/cpu/gnn_layer.h"
#include "trainer_service/nn/cpu/message_passing.h"
#include "trainer_service/nn/cpu/neighborhood_sums.h"
#include "trainer_service/nn/cpu/products.h"
#include "trainer_service/nn/cpu/row_sums.h"

namespace fgnn {

// Rows of one task of a layer: what is summed for them stays in the
// second-level cache until the product has read it. A multiple of kDropoutTile.
inline constexpr int64_t kRowsPerTask = 512;
static_assert(kRowsPerTask % kDropoutTile == 0);
inline int64_t NumRowTasks(int64_t rows) {
  return NumTasks(rows, kRowsPerTask);
}

// What is fixed for its life.
struct NeighborLinearOptions {
  int64_t in = 0;
  int64_t out = 0;
  // Places of the parameters among the P floats: W [out, in], b [out].
  uint64_t weight_offset = 0;
  uint64_t bias_offset = 0;
  // Sums instead of means: the place of eps, which is learned.
  std::optional<uint64_t> epsilon_offset;
  bool first = false;  // Its input is features, whose gradient nobody needs.
};

// Part of a layer. Keeps what its backward pass needs. Not thread-safe; borrows
// the team. May throw std::bad_alloc.
class NeighborLinear {
 public:
  NeighborLinear(const NeighborLinearOptions& options, ProductOrder order,
                 ThreadTeam* team)
      : options_(options), order_(order), team_(team), sums_(team) {}

  // As GnnLayer has it: a first layer, where it aggregates first. The gradient
  // of eps needs copies.
  bool TakesStoredRows(const BlockView& block) const {
    return options_.first && !options_.epsilon_offset &&
           !TransformsFirst(block);
  }
  bool SendsProducts() const { return options_.out <= options_.in; }
  const NeighborLinearOptions& options() const { return options_; }

  // What comes before ForwardRows() of a block. Borrows weights [P] and x.
  absl::Status Start(absl::Span<const float> weights, const BlockView& block,
                     const LayerInput<float>& x);
  // y [last - first, out] of the destinations in [first, last). Several threads
  // may work on parts that do not overlap.
  void ForwardRows(const BlockView& block, int64_t first, int64_t last,
                   float* y);
  // dy [D, out], to the gradients of the parameters and of x: see
  // GnnLayer::Backward(). The block is that of the last Start().
  absl::StatusOr<float*> Backward(const BlockView& block, const float* dy,
                                  float input_scale,
                                  absl::Span<float> gradient);

 private:
  bool TransformsFirst(const BlockView& block) const;
  absl::Status GradientOfMessages(const BlockView& block, const float* dy);
  absl::Status GradientOfInput(const BlockView& block, float input_scale);
  absl::StatusOr<float> GradientOfEpsilon(const BlockView& block,
                                          const float* dy);
  // rows [last - first, columns] of sources = the gradient of what is summed,
  // of that of the sums [D, columns].
  void GradientOfSummands(const BlockView& block, const float* sums_gradient,
                          int64_t columns, int64_t first, int64_t last,
                          float* rows) const;
  // Whether the gradient goes on from sums to sources.
  bool ReachesSources() const { return transforms_first_ || !options_.first; }

  const NeighborLinearOptions options_;
  const ProductOrder order_;
  ThreadTeam* const team_;
  RowSums sums_;

  // Of the last Start().
  bool transforms_first_ = false;
  LayerInput<float> x_;
  NeighborhoodWeights sum_weights_;
  absl::Span<const float> bias_;
  PackedFactor forward_;
  PackedFactor backward_;
  // Aggregate first: sums s [D, in], and the gradient of them.
  // Transform first: products of x [S, out], and the gradient of them.
  float* messages_ = nullptr;
  float* messages_gradient_ = nullptr;
  float* input_gradient_ = nullptr;  // [S, in]
  float* scales_ = nullptr;          // [D] of each sum

  AlignedBuffer messages_buffer_;
  AlignedBuffer messages_gradient_buffer_;
  AlignedBuffer input_gradient_buffer_;
  AlignedBuffer scales_buffer_;
  TransposedBlock transposed_;
};

// What it does in inference: see LayerInference. May be called from several
// threads at once.
class NeighborLinearInference {
 public:
  NeighborLinearInference(const NeighborLinearOptions& options,
                          bool sends_products, absl::Span<const float> weights);

  void Messages(const float* x, int64_t rows, float* messages) const;
  void Aggregate(const RowLists& lists, int64_t first, int64_t last,
                 const float* messages, float* out) const;
  int64_t message_columns() const {
    return sends_products_ ? options_.out : options_.in;
  }
  // aggregates -> y [rows, out].
  void Update(const float* aggregates, int64_t rows, float* y) const;

 private:
  const NeighborLinearOptions options_;
  const bool sends_products_;
  const NeighborhoodWeights sum_weights_;
  const float* const bias_;
  PackedFactor weight_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_NEIGHBOR_LINEAR_H_
