// One layer in which the messages of vertices come from a layer of their own,
// forwards and backwards:
//   m_u = relu(Q x_u + q)
//   z_v = W_neigh aggregate({m_u: u in N(v)}) + W_self x_v + b
// Q is [in, in]. If the aggregate is the largest, it is GraphSAGE's pooling
// aggregator (Hamilton, Ying and Leskovec, section 3.3, equation 3). If it is
// the mean weighted by visits, with rows of length 1, it is PinSAGE (Ying et
// al., "Graph Convolutional Neural Networks for Web-Scale Recommender Systems",
// algorithm 1).
//
// PinSAGE trains on the vertices that random walks visit. Inference is over
// whole neighbourhoods, without walks: the mean is that of all neighbours,
// equally.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_POOLED_LAYER_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_POOLED_LAYER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/cpu/kernels/dropout.h"
#include "trainer_service/nn/cpu/layers/gnn_layer.h"
#include "trainer_service/nn/cpu/layers/layer_rows.h"
#include "trainer_service/nn/cpu/layers/layer_weight.h"
#include "trainer_service/nn/cpu/layers/row_sums.h"
#include "trainer_service/nn/cpu/messages/neighbor_aggregation.h"
#include "trainer_service/nn/layer_options.h"

namespace fgnn {

// Borrows the team. Number: see GnnLayer; messages and aggregates are Numbers
// too.
template <typename Number>
class PooledLayer final : public GnnLayer<Number> {
 public:
  PooledLayer(const PooledLayerOptions& options, ThreadTeam* team)
      : options_(options),
        tasks_(team),
        row_sums_(team),
        aggregation_(
            MakeNeighborAggregation<Number>(options.aggregator, options.in)),
        x_(options.in, *team),
        messages_(options.in, /*last=*/false, *team),
        output_(options.out, options.last, *team) {}

  // The products that come first need copies.
  bool TakesStoredRows(const BlockView&) const override { return false; }
  absl::StatusOr<LayerOutput<Number>> Forward(absl::Span<const float> weights,
                                              const BlockView& block,
                                              const LayerInput<Number>& x,
                                              const Dropout& dropout) override;
  absl::StatusOr<Number*> Backward(const BlockView& block, const Number* dz,
                                   float input_scale,
                                   absl::Span<float> gradient) override;
  bool SendsProducts() const override { return true; }
  std::unique_ptr<const LayerInference> Inference(
      absl::Span<const float> weights) const override;

 private:
  bool scales_rows() const { return options_.unit_rows && !options_.last; }
  void StartWeights(absl::Span<const float> weights);
  absl::Status MakeMessages(const BlockView& block);
  void ForwardRows(const BlockView& block, int64_t first, int64_t last,
                   const Dropout& dropout, int worker);
  // Turns the gradient of the layer's output rows into that of z.
  absl::StatusOr<const Number*> GradientOfScaling(int64_t rows,
                                                  const Number* dy);
  absl::Status GradientOfMessages(const BlockView& block, const Number* dz);
  absl::Status GradientOfWeights(const BlockView& block, const Number* dz,
                                 absl::Span<float> gradient);
  absl::Status GradientOfInput(const BlockView& block, const Number* dz,
                               float input_scale);

  const PooledLayerOptions options_;
  RowTasks<Number> tasks_;
  RowSums<Number> row_sums_;
  const std::unique_ptr<NeighborAggregation<Number>> aggregation_;

  struct Weights {
    LayerWeight<Number> message;
    LayerWeight<Number> neighbor;
    LayerWeight<Number> self;
    RepeatedRow message_bias;
    const float* bias = nullptr;
  };
  struct Gradients {
    Scratch<Number> unit_rows;   // [D, out]
    Scratch<Number> aggregates;  // [D, in]
    Scratch<Number> messages;    // [S, in] Before their ReLU.
    Scratch<Number> input;       // [S, in]
  };

  // State of the last Forward().
  InputRows<Number> x_;
  Weights weights_;
  OutputRows<Number> messages_;  // [S, in]
  Scratch<Number> aggregates_;   // [D, in]
  // Without unit rows these are empty.
  Scratch<Number> unit_rows_;       // [D, out] Rows before dropout.
  Scratch<float> inverse_lengths_;  // [D], of the unit rows.
  OutputRows<Number> output_;

  Gradients gradients_;  // State of the last Backward().
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_POOLED_LAYER_H_
