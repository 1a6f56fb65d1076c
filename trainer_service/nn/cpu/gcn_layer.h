// One GCN layer (Kipf and Welling, "Semi-Supervised Classification with Graph
// Convolutional Networks", section 2), forwards and backwards:
//   z_v = b + W mean({x_v} + {x_u: u in N(v)})
//
// The paper divides the message of u to v by sqrt(d_u d_v), degrees with the
// vertex itself; this layer divides it by d_v, DGL's norm "right". In a sampled
// block d_u, the number of neighbours drawn for u, is not known, for u is not
// a destination; the mean over those drawn for v estimates the mean over all of
// them, so that training on samples and inference over whole neighbourhoods
// obey one law. An edge from v to itself counts beside v.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_GCN_LAYER_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_GCN_LAYER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/cpu/gnn_layer.h"
#include "trainer_service/nn/cpu/layer_rows.h"
#include "trainer_service/nn/cpu/neighbor_linear.h"

namespace fgnn {

// Borrows the team. Number: see GnnLayer; what is summed is kept in it too.
template <typename Number>
class GcnLayer final : public GnnLayer<Number> {
 public:
  // last: no ReLU and dropout after it.
  GcnLayer(const NeighborLinearOptions& options, bool last, ProductOrder order,
           ThreadTeam* team)
      : last_(last),
        team_(team),
        linear_(options, order, team),
        output_(options.out, last, *team) {}

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
      absl::Span<const float> weights) const override;

 private:
  const bool last_;
  ThreadTeam* const team_;
  NeighborLinear<Number> linear_;
  OutputRows<Number> output_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_GCN_LAYER_H_
