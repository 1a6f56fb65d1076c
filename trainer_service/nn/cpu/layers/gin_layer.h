// One GIN layer (Xu et al., "How Powerful are Graph Neural Networks?", section
// 4, equation 4.1), forwards and backwards:
//   z_v = b_2 + W_2 relu(b_1 + W_1 ((1 + eps) x_v + sum_{u in N(v)} x_u))
// eps is learned; W_1 [out, in], W_2 [out, out].
//
// The sum is plain, as in GINConv of PyTorch Geometric and DGL. In a sampled
// block it is over the drawn neighbours, in inference over all of them. If few
// of many are drawn, training sees smaller sums than inference; fanouts of -1
// make them equal.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_GIN_LAYER_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_GIN_LAYER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/cpu/kernels/dropout.h"
#include "trainer_service/nn/cpu/layers/gnn_layer.h"
#include "trainer_service/nn/cpu/layers/layer_rows.h"
#include "trainer_service/nn/cpu/layers/layer_weight.h"
#include "trainer_service/nn/cpu/layers/neighbor_linear.h"
#include "trainer_service/nn/cpu/layers/row_sums.h"
#include "trainer_service/nn/layer_options.h"

namespace fgnn {

// Borrows the team. Number: see GnnLayer. The values between the two linear
// maps are Numbers too.
template <typename Number>
class GinLayer final : public GnnLayer<Number> {
 public:
  GinLayer(const GinLayerOptions& options, ThreadTeam* team)
      : options_(options),
        tasks_(team),
        linear_(options.first_linear, team),
        row_sums_(team),
        hidden_(options.first_linear.out, /*last=*/false, *team),
        output_(options.first_linear.out, options.last, *team) {}

  bool TakesStoredRows(const BlockView& block) const override {
    return linear_.TakesStoredRows(block);
  }
  absl::StatusOr<LayerOutput<Number>> Forward(absl::Span<const float> weights,
                                              const BlockView& block,
                                              const LayerInput<Number>& x,
                                              const Dropout& dropout) override;
  absl::StatusOr<Number*> Backward(const BlockView& block, const Number* dz,
                                   float input_scale,
                                   absl::Span<float> gradient) override;
  bool SendsProducts() const override {
    return fgnn::SendsProducts(options_.first_linear);
  }
  std::unique_ptr<const LayerInference> Inference(
      absl::Span<const float> weights) const override;

 private:
  const GinLayerOptions options_;
  RowTasks<Number> tasks_;
  NeighborLinear<Number> linear_;
  RowSums<Number> row_sums_;

  // State of the last Forward().
  LayerWeight<Number> weight_;
  RepeatedRow bias_;
  OutputRows<Number> hidden_;  // Values after the inner ReLU.
  OutputRows<Number> output_;

  Scratch<Number> hidden_gradient_;  // [D, out], before the inner ReLU.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_GIN_LAYER_H_
