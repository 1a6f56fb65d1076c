#include "trainer_service/nn/cpu/layers/make_layer.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "trainer_service/nn/cpu/layers/gat_layer.h"
#include "trainer_service/nn/cpu/layers/gin_layer.h"
#include "trainer_service/nn/cpu/layers/linear_layer.h"
#include "trainer_service/nn/cpu/layers/neighbor_linear.h"
#include "trainer_service/nn/cpu/layers/pooled_layer.h"

namespace fgnn {
namespace {

// Returns true if the layer itself ends without ReLU and dropout: a HiddenStage
// has them, or none follow.
bool EndsPlainly(const ModelOptions& options, uint32_t layer) {
  return layer + 1 == options.layers || options.normalizes(layer) ||
         options.adds_inputs(layer);
}

// Returns the offset of a parameter, which the model must have, among its P
// floats.
uint64_t OffsetOf(const Model& model, const char* part, uint32_t layer,
                  const char* name) {
  const std::string full_name = absl::StrCat(part, ".", layer, ".", name);
  return std::find_if(model.parameters().begin(), model.parameters().end(),
                      [&](const ParameterInfo& parameter) {
                        return parameter.name == full_name;
                      })
      ->offset;
}

// Returns the shape of a layer's map, without its parameters.
NeighborLinearOptions LinearOf(const Model& model, uint32_t layer,
                               ProductOrder order) {
  NeighborLinearOptions linear;
  linear.in = static_cast<int64_t>(model.options().input_width(layer));
  linear.out = static_cast<int64_t>(model.options().output_width(layer));
  linear.first = layer == 0;
  linear.order = order;
  return linear;
}

template <typename Number>
std::unique_ptr<GnnLayer<Number>> MakeSageLayer(const Model& model,
                                                uint32_t layer,
                                                ProductOrder order,
                                                ThreadTeam* team) {
  NeighborLinearOptions linear = LinearOf(model, layer, order);
  linear.weight_offset = OffsetOf(model, "convs", layer, "lin_l.weight");
  linear.bias_offset = OffsetOf(model, "convs", layer, "lin_l.bias");
  linear.self_offset = OffsetOf(model, "convs", layer, "lin_r.weight");
  return std::make_unique<LinearLayer<Number>>(
      linear, EndsPlainly(model.options(), layer), team);
}

template <typename Number>
std::unique_ptr<GnnLayer<Number>> MakeGcnLayer(const Model& model,
                                               uint32_t layer,
                                               ProductOrder order,
                                               ThreadTeam* team) {
  NeighborLinearOptions linear = LinearOf(model, layer, order);
  linear.weight_offset = OffsetOf(model, "convs", layer, "lin.weight");
  linear.bias_offset = OffsetOf(model, "convs", layer, "bias");
  linear.divides_by_degrees = model.options().divides_by_degrees();
  return std::make_unique<LinearLayer<Number>>(
      linear, EndsPlainly(model.options(), layer), team);
}

template <typename Number>
std::unique_ptr<GnnLayer<Number>> MakeGinLayer(const Model& model,
                                               uint32_t layer,
                                               ProductOrder order,
                                               ThreadTeam* team) {
  GinLayerOptions shape;
  NeighborLinearOptions& linear = shape.first_linear;
  linear = LinearOf(model, layer, order);
  linear.epsilon_offset = OffsetOf(model, "convs", layer, "eps");
  linear.weight_offset = OffsetOf(model, "convs", layer, "nn.0.weight");
  linear.bias_offset = OffsetOf(model, "convs", layer, "nn.0.bias");
  shape.weight_offset = OffsetOf(model, "convs", layer, "nn.2.weight");
  shape.bias_offset = OffsetOf(model, "convs", layer, "nn.2.bias");
  shape.last = EndsPlainly(model.options(), layer);
  return std::make_unique<GinLayer<Number>>(shape, team);
}

template <typename Number>
std::unique_ptr<GnnLayer<Number>> MakeGatLayer(const Model& model,
                                               uint32_t layer,
                                               ThreadTeam* team) {
  const ModelOptions& options = model.options();
  GatLayerOptions shape;
  shape.in = static_cast<int64_t>(options.input_width(layer));
  shape.shape.heads = options.layer_heads(layer);
  shape.shape.columns =
      static_cast<int64_t>(options.output_width(layer)) / shape.shape.heads;
  shape.weight_offset = OffsetOf(model, "convs", layer, "lin.weight");
  shape.source_offset = OffsetOf(model, "convs", layer, "att_src");
  shape.destination_offset = OffsetOf(model, "convs", layer, "att_dst");
  shape.bias_offset = OffsetOf(model, "convs", layer, "bias");
  shape.attention_dropout = options.attention_dropout;
  shape.first = layer == 0;
  shape.last = EndsPlainly(options, layer);
  return std::make_unique<GatLayer<Number>>(shape, team);
}

// Each layer makes messages of all sources, so there is no order to choose.
template <typename Number>
std::unique_ptr<GnnLayer<Number>> MakePooledLayer(const Model& model,
                                                  uint32_t layer,
                                                  ThreadTeam* team) {
  const ModelOptions& options = model.options();
  const bool pinsage = options.kind == "pinsage";
  PooledLayerOptions shape;
  shape.in = static_cast<int64_t>(options.input_width(layer));
  shape.out = static_cast<int64_t>(options.output_width(layer));
  shape.message_weight_offset = OffsetOf(model, "convs", layer, "lin.weight");
  shape.message_bias_offset = OffsetOf(model, "convs", layer, "lin.bias");
  shape.neighbor_offset = OffsetOf(model, "convs", layer, "lin_l.weight");
  shape.self_offset = OffsetOf(model, "convs", layer, "lin_r.weight");
  shape.bias_offset = OffsetOf(model, "convs", layer, "lin_l.bias");
  shape.aggregator = pinsage ? Aggregator::kWeightedMean : Aggregator::kMax;
  shape.unit_rows = pinsage;
  shape.first = layer == 0;
  shape.last = EndsPlainly(options, layer);
  return std::make_unique<PooledLayer<Number>>(shape, team);
}

}  // namespace

template <typename Number>
std::unique_ptr<GnnLayer<Number>> MakeLayer(const Model& model, uint32_t layer,
                                            ProductOrder order,
                                            ThreadTeam* team) {
  const ModelOptions& options = model.options();
  if (options.kind == "gcn") {
    return MakeGcnLayer<Number>(model, layer, order, team);
  }
  if (options.kind == "gin") {
    return MakeGinLayer<Number>(model, layer, order, team);
  }
  if (options.kind == "gat") return MakeGatLayer<Number>(model, layer, team);
  if (options.transforms_messages()) {
    return MakePooledLayer<Number>(model, layer, team);
  }
  return MakeSageLayer<Number>(model, layer, order, team);
}

template std::unique_ptr<GnnLayer<float>> MakeLayer(const Model&, uint32_t,
                                                    ProductOrder, ThreadTeam*);
template std::unique_ptr<GnnLayer<Bfloat16>> MakeLayer(const Model&, uint32_t,
                                                       ProductOrder,
                                                       ThreadTeam*);

std::optional<HiddenStageOptions> StageOf(const Model& model, uint32_t layer) {
  const ModelOptions& options = model.options();
  if (layer + 1 == options.layers || !EndsPlainly(options, layer)) {
    return std::nullopt;
  }
  HiddenStageOptions stage;
  stage.columns = static_cast<int64_t>(options.output_width(layer));
  stage.adds_inputs = options.adds_inputs(layer);
  if (!options.normalizes(layer)) return stage;
  stage.normalization = options.normalization == "batch"
                            ? Normalization::kBatch
                            : Normalization::kLayer;
  stage.scale_offset = OffsetOf(model, "norms", layer, "weight");
  stage.shift_offset = OffsetOf(model, "norms", layer, "bias");
  if (stage.normalization == Normalization::kLayer) return stage;
  stage.mean_offset = OffsetOf(model, "norms", layer, "running_mean");
  stage.variance_offset = OffsetOf(model, "norms", layer, "running_var");
  return stage;
}

}  // namespace fgnn
