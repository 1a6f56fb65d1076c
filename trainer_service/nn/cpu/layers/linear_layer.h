// The layers that are one linear map of sums over neighbours, forwards and
// backwards. A GraphSAGE layer (mean) is
//   z_v = W_self x_v + W mean_{u in N(v)} x_u + b
// A GCN layer (Kipf and Welling, "Semi-Supervised Classification with Graph
// Convolutional Networks", section 2) is
//   z_v = b + W (x_v / d_v + (d_v - 1) / |N(v)| sum_{u in N(v)} x_u / c_uv)
// with c_uv = sqrt(d_u d_v), as in the paper; it is DGL's norm "both". d is a
// vertex's in-degree in the whole graph, plus 1 for itself. The sum over the
// N(v), which were drawn uniformly, estimates the sum over all d_v - 1.
// Training on samples and inference over whole neighbourhoods therefore obey
// one law. GCN's other form is
//   z_v = b + W mean({x_v} + {x_u: u in N(v)})
// which divides by the number drawn, plus v itself: DGL's norm "right". An edge
// from v to itself counts beside v.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_LINEAR_LAYER_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_LINEAR_LAYER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/cpu/layers/gnn_layer.h"
#include "trainer_service/nn/cpu/layers/layer_rows.h"
#include "trainer_service/nn/cpu/layers/neighbor_linear.h"
#include "trainer_service/nn/layer_options.h"

namespace fgnn {

// Borrows the team. Number: see GnnLayer; sums and means are Numbers too.
template <typename Number>
class LinearLayer final : public GnnLayer<Number> {
 public:
  LinearLayer(const LinearLayerOptions& options, ThreadTeam* team)
      : last_(options.last),
        tasks_(team),
        linear_(options.linear, team),
        output_(options.linear.out, options.last, *team) {}

  bool TakesStoredRows(const BlockView& block) const override {
    return linear_.TakesStoredRows(block);
  }
  absl::StatusOr<LayerOutput<Number>> Forward(absl::Span<const float> weights,
                                              const BlockView& block,
                                              const LayerInput<Number>& x,
                                              const Dropout& dropout) override;
  absl::StatusOr<Number*> Backward(const BlockView& block, const Number* dz,
                                   float input_scale,
                                   absl::Span<float> gradient) override {
    return linear_.Backward(block, dz, input_scale, gradient);
  }
  bool SendsProducts() const override {
    return fgnn::SendsProducts(linear_.options());
  }
  std::unique_ptr<const LayerInference> Inference(
      absl::Span<const float> weights) const override {
    return std::make_unique<NeighborLinearInference>(linear_.options(),
                                                     /*relu=*/!last_, weights);
  }

 private:
  const bool last_;
  RowTasks<Number> tasks_;
  NeighborLinear<Number> linear_;
  OutputRows<Number> output_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_LINEAR_LAYER_H_
