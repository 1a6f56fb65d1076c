// A linear map of sums over vertices and their neighbours, forwards and
// backwards:
//   y_v = b + W s_v, where s_v is one of
//     mean({x_v} + {x_u: u in N(v)})
//     x_v / d_v + (d_v - 1) / |N(v)| sum_{u in N(v)} x_u / sqrt(d_u d_v)
//     (1 + eps) x_v + sum_{u in N(v)} x_u
// d being a vertex's in-degree in the whole graph + 1, and N(v) the neighbours
// that were drawn for v, which stand for all d_v - 1 of them.
// S sources and D destinations of a block, `in` and `out` columns.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_NEIGHBOR_LINEAR_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_NEIGHBOR_LINEAR_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/minibatch/task.h"
#include "trainer_service/compute/aligned_buffer.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/cpu/kernels/products.h"
#include "trainer_service/nn/cpu/layers/gnn_layer.h"
#include "trainer_service/nn/cpu/layers/layer_rows.h"
#include "trainer_service/nn/cpu/layers/row_sums.h"
#include "trainer_service/nn/cpu/messages/message_passing.h"
#include "trainer_service/nn/cpu/messages/neighborhood_sums.h"

namespace fgnn {

// What is fixed for its life.
struct NeighborLinearOptions {
  int64_t in = 0;
  int64_t out = 0;
  // Places of the parameters among the P floats: W [out, in], b [out].
  uint64_t weight_offset = 0;
  uint64_t bias_offset = 0;
  // Sums instead of means: the place of eps, which is learned.
  std::optional<uint64_t> epsilon_offset;
  bool divides_by_degrees = false;  // The second of the above; without eps.
  bool first = false;  // Its input is features, whose gradient nobody needs.
};

// Whether inference aggregates products: where these are the narrower.
inline bool SendsProducts(const NeighborLinearOptions& options) {
  return options.out <= options.in;
}

// Part of a layer; Number: see GnnLayer. Keeps what its backward pass needs.
// Not thread-safe; borrows the team. May throw std::bad_alloc.
template <typename Number>
class NeighborLinear {
 public:
  NeighborLinear(const NeighborLinearOptions& options, ProductOrder order,
                 ThreadTeam* team)
      : options_(options),
        order_(order),
        team_(team),
        sums_(team),
        rows_(options.in, *team),
        floats_(*team) {}

  // As GnnLayer has it: a first layer, where it aggregates first.
  bool TakesStoredRows(const BlockView& block) const {
    return options_.first && !TransformsFirst(block);
  }
  const NeighborLinearOptions& options() const { return options_; }

  // What comes before ForwardRows() of a block. Borrows weights [P] and what x
  // points to.
  absl::Status Start(absl::Span<const float> weights, const BlockView& block,
                     const LayerInput<Number>& x);
  // y [last - first, out] of the destinations in [first, last), at most
  // kRowsPerTask. Several workers may do parts that do not overlap.
  void ForwardRows(const BlockView& block, int64_t first, int64_t last,
                   int worker, float* y);
  // dy [D, out], to the gradients of the parameters and of x: see
  // GnnLayer::Backward(). The block is that of the last Start().
  absl::StatusOr<Number*> Backward(const BlockView& block, const Number* dy,
                                   float input_scale,
                                   absl::Span<float> gradient);

 private:
  bool TransformsFirst(const BlockView& block) const;
  void StartScales(const BlockView& block, const SourceDegrees& degrees);
  absl::Status GradientOfMessages(const BlockView& block, const Number* dy);
  absl::Status GradientOfInput(const BlockView& block, float input_scale);
  absl::StatusOr<float> GradientOfEpsilon(const BlockView& block,
                                          const Number* dy);
  // rows [last - first, columns] of sources = the gradient of what is summed,
  // of that of the sums [D, columns].
  void GradientOfSummands(const BlockView& block, const Number* sums_gradient,
                          int64_t columns, int64_t first, int64_t last,
                          float* rows) const;
  // Whether the gradient goes on from sums to sources.
  bool ReachesSources() const { return transforms_first_ || !options_.first; }

  const NeighborLinearOptions options_;
  const ProductOrder order_;
  ThreadTeam* const team_;
  RowSums<Number> sums_;

  // Of the last Start().
  bool transforms_first_ = false;
  LayerInput<Number> x_;
  // Of x, where it transforms first or is not first, or, of the first D, where
  // eps needs them.
  InputRows<Number> rows_;
  NeighborhoodWeights sum_weights_;
  absl::Span<const float> bias_;
  PackedFactorOf<Number> forward_;
  PackedFactorOf<Number> backward_;
  // Aggregate first: sums s [D, in], and the gradient of them.
  // Transform first: products of x [S, out], and the gradient of them.
  Number* messages_ = nullptr;
  Number* messages_gradient_ = nullptr;
  Number* input_gradient_ = nullptr;  // [S, in]
  float* scales_ = nullptr;           // [D] of each sum of neighbours

  FloatRows<Number> floats_;
  AlignedBuffer weight_buffer_;
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
                          absl::Span<const float> weights);

  void Messages(const float* x, int64_t rows, float* messages) const;
  void Aggregate(const RowLists& lists, int64_t first, int64_t last,
                 const float* messages, float* out) const;
  int64_t message_columns() const {
    return SendsProducts(options_) ? options_.out : options_.in;
  }
  // aggregates -> y [rows, out].
  void Update(const float* aggregates, int64_t rows, float* y) const;

 private:
  const NeighborLinearOptions options_;
  const NeighborhoodWeights sum_weights_;
  const float* const bias_;
  PackedFactor weight_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_NEIGHBOR_LINEAR_H_
