// Makes the layers of a model: the class of each kind.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_MAKE_LAYER_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_MAKE_LAYER_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/cpu/layers/gnn_layer.h"
#include "trainer_service/nn/cpu/layers/hidden_stage.h"
#include "trainer_service/nn/layer_options.h"
#include "trainer_service/nn/model.h"
#include "trainer_service/nn/product_order.h"

namespace fgnn {

// The options must be valid. Borrows the team. Number: see GnnLayer.
template <typename Number>
std::unique_ptr<GnnLayer<Number>> MakeLayer(const Model& model, uint32_t layer,
                                            ProductOrder order,
                                            ThreadTeam* team);

// Returns the stage behind the layer. nullopt: there is none, and a hidden
// layer ends in ReLU and dropout itself.
std::optional<HiddenStageOptions> StageOf(const Model& model, uint32_t layer);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_MAKE_LAYER_H_
