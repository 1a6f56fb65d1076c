#include "trainer_service/nn/layer_options.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace fgnn {

// Returns true if the layer itself ends without ReLU and dropout: a hidden
// stage has them, or none follow.
bool LayerDescriber::EndsPlainly(uint32_t layer) const {
  return layer + 1 == options_.layers || options_.normalizes(layer) ||
         options_.adds_inputs(layer);
}

// Returns the offset of a parameter, which the model must have, among its P
// floats.
uint64_t LayerDescriber::OffsetOf(const char* part, uint32_t layer,
                                  const char* name) const {
  const std::string full_name = absl::StrCat(part, ".", layer, ".", name);
  return std::find_if(parameters_.begin(), parameters_.end(),
                      [&](const ParameterInfo& parameter) {
                        return parameter.name == full_name;
                      })
      ->offset;
}

// Returns the shape of a layer's map, without its parameters.
NeighborLinearOptions LayerDescriber::LinearOf(uint32_t layer,
                                               ProductOrder order) const {
  NeighborLinearOptions linear;
  linear.in = static_cast<int64_t>(options_.input_width(layer));
  linear.out = static_cast<int64_t>(options_.output_width(layer));
  linear.first = layer == 0;
  linear.order = order;
  return linear;
}

LinearLayerOptions LayerDescriber::Sage(uint32_t layer,
                                        ProductOrder order) const {
  NeighborLinearOptions linear = LinearOf(layer, order);
  linear.weight_offset = OffsetOf("convs", layer, "lin_l.weight");
  linear.bias_offset = OffsetOf("convs", layer, "lin_l.bias");
  linear.self_offset = OffsetOf("convs", layer, "lin_r.weight");
  return {linear, EndsPlainly(layer)};
}

LinearLayerOptions LayerDescriber::Gcn(uint32_t layer,
                                       ProductOrder order) const {
  NeighborLinearOptions linear = LinearOf(layer, order);
  linear.weight_offset = OffsetOf("convs", layer, "lin.weight");
  linear.bias_offset = OffsetOf("convs", layer, "bias");
  linear.divides_by_degrees = options_.divides_by_degrees();
  return {linear, EndsPlainly(layer)};
}

GinLayerOptions LayerDescriber::Gin(uint32_t layer, ProductOrder order) const {
  GinLayerOptions shape;
  NeighborLinearOptions& linear = shape.first_linear;
  linear = LinearOf(layer, order);
  linear.epsilon_offset = OffsetOf("convs", layer, "eps");
  linear.weight_offset = OffsetOf("convs", layer, "nn.0.weight");
  linear.bias_offset = OffsetOf("convs", layer, "nn.0.bias");
  shape.weight_offset = OffsetOf("convs", layer, "nn.2.weight");
  shape.bias_offset = OffsetOf("convs", layer, "nn.2.bias");
  shape.last = EndsPlainly(layer);
  return shape;
}

GatLayerOptions LayerDescriber::Gat(uint32_t layer) const {
  GatLayerOptions shape;
  shape.in = static_cast<int64_t>(options_.input_width(layer));
  shape.shape.heads = options_.layer_heads(layer);
  shape.shape.columns =
      static_cast<int64_t>(options_.output_width(layer)) / shape.shape.heads;
  shape.weight_offset = OffsetOf("convs", layer, "lin.weight");
  shape.source_offset = OffsetOf("convs", layer, "att_src");
  shape.destination_offset = OffsetOf("convs", layer, "att_dst");
  shape.bias_offset = OffsetOf("convs", layer, "bias");
  shape.attention_dropout = options_.attention_dropout;
  shape.first = layer == 0;
  shape.last = EndsPlainly(layer);
  return shape;
}

PooledLayerOptions LayerDescriber::Pooled(uint32_t layer) const {
  const bool pinsage = options_.kind == "pinsage";
  PooledLayerOptions shape;
  shape.in = static_cast<int64_t>(options_.input_width(layer));
  shape.out = static_cast<int64_t>(options_.output_width(layer));
  shape.message_weight_offset = OffsetOf("convs", layer, "lin.weight");
  shape.message_bias_offset = OffsetOf("convs", layer, "lin.bias");
  shape.neighbor_offset = OffsetOf("convs", layer, "lin_l.weight");
  shape.self_offset = OffsetOf("convs", layer, "lin_r.weight");
  shape.bias_offset = OffsetOf("convs", layer, "lin_l.bias");
  shape.aggregator = pinsage ? Aggregator::kWeightedMean : Aggregator::kMax;
  shape.unit_rows = pinsage;
  shape.first = layer == 0;
  shape.last = EndsPlainly(layer);
  return shape;
}

std::optional<HiddenStageOptions> LayerDescriber::Stage(uint32_t layer) const {
  if (layer + 1 == options_.layers || !EndsPlainly(layer)) {
    return std::nullopt;
  }
  HiddenStageOptions stage;
  stage.columns = static_cast<int64_t>(options_.output_width(layer));
  stage.adds_inputs = options_.adds_inputs(layer);
  if (!options_.normalizes(layer)) return stage;
  stage.normalization = options_.normalization == "batch"
                            ? Normalization::kBatch
                            : Normalization::kLayer;
  stage.scale_offset = OffsetOf("norms", layer, "weight");
  stage.shift_offset = OffsetOf("norms", layer, "bias");
  if (stage.normalization == Normalization::kLayer) return stage;
  stage.mean_offset = OffsetOf("norms", layer, "running_mean");
  stage.variance_offset = OffsetOf("norms", layer, "running_var");
  return stage;
}

}  // namespace fgnn
