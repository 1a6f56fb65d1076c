// The layers of a model by its options: which class each kind is, and where its
// parameters lie.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_MAKE_LAYER_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_MAKE_LAYER_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/cpu/kernels/product_order.h"
#include "trainer_service/nn/cpu/layers/gnn_layer.h"
#include "trainer_service/nn/cpu/layers/hidden_stage.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Of valid options. Borrows the team. Number: see GnnLayer.
template <typename Number>
std::unique_ptr<GnnLayer<Number>> MakeLayer(const Model& model, uint32_t layer,
                                            ProductOrder order,
                                            ThreadTeam* team);

// What follows the layer; nullopt: nothing, and where it is hidden, it ends in
// ReLU and dropout itself.
std::optional<HiddenStageOptions> StageOf(const Model& model, uint32_t layer);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_MAKE_LAYER_H_
