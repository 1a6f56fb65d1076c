// A linear map of sums over vertices and their neighbours (see
// NeighborLinearOptions), forwards and backwards. A block has S sources and D
// destinations; rows have `in` and `out` columns.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_NEIGHBOR_LINEAR_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_NEIGHBOR_LINEAR_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/minibatch/task.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/cpu/kernels/dropout.h"
#include "trainer_service/nn/cpu/kernels/products.h"
#include "trainer_service/nn/cpu/layers/gnn_layer.h"
#include "trainer_service/nn/cpu/layers/layer_rows.h"
#include "trainer_service/nn/cpu/layers/layer_weight.h"
#include "trainer_service/nn/cpu/layers/row_sums.h"
#include "trainer_service/nn/cpu/messages/message_passing.h"
#include "trainer_service/nn/cpu/messages/neighborhood_sums.h"
#include "trainer_service/nn/layer_options.h"
#include "trainer_service/nn/model.h"
#include "trainer_service/nn/product_order.h"

namespace fgnn {

// Part of a layer; Number: see GnnLayer. Keeps what its backward pass needs.
// Not thread-safe; borrows the team. May throw std::bad_alloc.
template <typename Number>
class NeighborLinear {
 public:
  NeighborLinear(const NeighborLinearOptions& options, ThreadTeam* team)
      : options_(options),
        tasks_(team),
        row_sums_(team),
        rows_(options.in, *team) {}

  // As in GnnLayer: true for a first layer that aggregates first.
  bool TakesStoredRows(const BlockView& block) const {
    return options_.first && !TransformsFirst(block);
  }
  const NeighborLinearOptions& options() const { return options_; }

  // Prepares ForwardRows() of a block. weights [P]. Borrows what x points to.
  absl::Status Start(absl::Span<const float> weights, const BlockView& block,
                     const LayerInput<Number>& x);
  // Computes y [last - first, out], without b, of the destinations in [first,
  // last), at most kRowsPerTask. Several workers may compute parts that do not
  // overlap.
  void ForwardRows(const BlockView& block, int64_t first, int64_t last,
                   int worker, float* y);
  // Returns b, as of the last Start().
  const RepeatedRow& bias() const { return bias_; }
  // Turns dy [D, out] into the gradients of the parameters and of x: see
  // GnnLayer::Backward(). The block is that of the last Start().
  absl::StatusOr<Number*> Backward(const BlockView& block, const Number* dy,
                                   float input_scale,
                                   absl::Span<float> gradient);

 private:
  bool TransformsFirst(const BlockView& block) const;
  bool ReadsOwnRows() const {
    return options_.self_offset || options_.epsilon_offset;
  }
  void StartScales(const BlockView& block, const SourceDegrees& degrees);
  // Computes the sums or means [last - first, columns] of rows of x: of dense
  // ones or StoredRows.
  template <typename Rows>
  void SumRows(const BlockView& block, int64_t first, int64_t last,
               const Rows& x, int64_t columns, float* out) const;
  absl::Status GradientOfMessages(const BlockView& block, const Number* dy);
  absl::Status GradientOfWeights(const BlockView& block, const Number* dy,
                                 absl::Span<float> gradient);
  absl::StatusOr<float> GradientOfEpsilon(const BlockView& block,
                                          const Number* dy);
  absl::Status GradientOfInput(const BlockView& block, const Number* dy,
                               float input_scale);
  // Adds to rows [last - first, columns] of sources the gradient of the
  // summands, from that of the sums [D, columns].
  void AddGradientOfSummands(const BlockView& block,
                             const Number* sums_gradient, int64_t columns,
                             int64_t first, int64_t last, float* rows) const;
  // Returns true if the gradient goes on from sums to sources.
  bool ReachesSources() const { return transforms_first_ || !options_.first; }

  const NeighborLinearOptions options_;
  RowTasks<Number> tasks_;
  RowSums<Number> row_sums_;

  // State of the last Start().
  bool transforms_first_ = false;
  // Rows of x: all if it transforms first or is not first, else the first D if
  // W_self or eps needs them.
  InputRows<Number> rows_;
  NeighborhoodWeights sum_weights_;
  LayerWeight<Number> weight_;
  LayerWeight<Number> self_weight_;
  RepeatedRow bias_;
  Scratch<float> scales_;  // [D] Scale of each s_v's sum of neighbours.
  // Aggregate first: sums or means [D, in], and their gradient. Transform
  // first: products of x [S, out], and their gradient.
  Scratch<Number> messages_;
  Scratch<Number> messages_gradient_;
  Scratch<Number> input_gradient_;  // [S, in]
  TransposedBlock transposed_;
};

// The map in inference, in f32.
class NeighborLinearInference final : public LayerInference {
 public:
  // `relu`: y is max(y_v, 0). Packs its part of weights [P]; borrows the bias.
  // std::bad_alloc.
  NeighborLinearInference(const NeighborLinearOptions& options, bool relu,
                          absl::Span<const float> weights);

  int64_t message_columns() const {
    return SendsProducts(options_) ? options_.out : options_.in;
  }
  void Messages(const float* x, int64_t rows, float* messages) const override;
  void Aggregate(const RowLists& lists, int64_t first, int64_t last,
                 const float* messages, float* out) const override;
  bool UpdateReadsInputs() const override {
    return options_.self_offset.has_value();
  }
  void Update(const float* x, const float* aggregates, int64_t rows,
              float* y) const override;

 private:
  const NeighborLinearOptions options_;
  const bool relu_;
  const NeighborhoodWeights sum_weights_;
  const float* const bias_;
  PackedFactor weight_;
  PackedFactor self_weight_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_NEIGHBOR_LINEAR_H_
