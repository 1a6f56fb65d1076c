#include "trainer_service/nn/cpu/layers/make_layer.h"

#include "trainer_service/nn/cpu/layers/gat_layer.h"
#include "trainer_service/nn/cpu/layers/gin_layer.h"
#include "trainer_service/nn/cpu/layers/linear_layer.h"
#include "trainer_service/nn/cpu/layers/pooled_layer.h"

namespace fgnn {

template <typename Number>
std::unique_ptr<GnnLayer<Number>> MakeLayer(const Model& model, uint32_t layer,
                                            ProductOrder order,
                                            ThreadTeam* team) {
  const ModelOptions& options = model.options();
  const LayerDescriber describer(options, model.parameters());
  if (options.kind == "gcn") {
    return std::make_unique<LinearLayer<Number>>(describer.Gcn(layer, order),
                                                 team);
  }
  if (options.kind == "gin") {
    return std::make_unique<GinLayer<Number>>(describer.Gin(layer, order),
                                              team);
  }
  if (options.kind == "gat") {
    return std::make_unique<GatLayer<Number>>(describer.Gat(layer), team);
  }
  // Makes messages of all sources, so there is no order to choose.
  if (options.transforms_messages()) {
    return std::make_unique<PooledLayer<Number>>(describer.Pooled(layer), team);
  }
  return std::make_unique<LinearLayer<Number>>(describer.Sage(layer, order),
                                               team);
}

template std::unique_ptr<GnnLayer<float>> MakeLayer(const Model&, uint32_t,
                                                    ProductOrder, ThreadTeam*);
template std::unique_ptr<GnnLayer<Bfloat16>> MakeLayer(const Model&, uint32_t,
                                                       ProductOrder,
                                                       ThreadTeam*);

std::optional<HiddenStageOptions> StageOf(const Model& model, uint32_t layer) {
  return LayerDescriber(model.options(), model.parameters()).Stage(layer);
}

}  // namespace fgnn
