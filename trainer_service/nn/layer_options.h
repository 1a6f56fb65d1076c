// The layers of a model, described from its options: sizes, and the places of
// their parameters among the P floats. Each kind of device makes its layers of
// these.
#ifndef FGNN_TRAINER_SERVICE_NN_LAYER_OPTIONS_H_
#define FGNN_TRAINER_SERVICE_NN_LAYER_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "trainer_service/nn/model.h"
#include "trainer_service/nn/product_order.h"

namespace fgnn {

// A linear map of sums over vertices and their neighbours. It is one of
//   y_v = b + W mean({x_u: u in N(v)}) + W_self x_v
//   y_v = b + W s_v, where s_v is one of
//     mean({x_v} + {x_u: u in N(v)})
//     x_v / d_v + (d_v - 1) / |N(v)| sum_{u in N(v)} x_u / sqrt(d_u d_v)
//     (1 + eps) x_v + sum_{u in N(v)} x_u
// d is a vertex's in-degree in the whole graph + 1. N(v) are the neighbours
// that were drawn for v; they stand for all d_v - 1 of them.
struct NeighborLinearOptions {
  int64_t in = 0;
  int64_t out = 0;
  // Offsets of the parameters among the P floats: W [out, in], b [out].
  uint64_t weight_offset = 0;
  uint64_t bias_offset = 0;
  // Offset of W_self [out, in]; nullopt: the map is that of s_v.
  std::optional<uint64_t> self_offset;
  // Offset of eps, which is learned; nullopt: means instead of sums.
  std::optional<uint64_t> epsilon_offset;
  // Whether s_v is the second of the above; without eps.
  bool divides_by_degrees = false;
  // Whether the input is features, whose gradient is not needed.
  bool first = false;
  // What comes first in training.
  ProductOrder order = ProductOrder::kCheapest;
};

// Returns true if inference aggregates products: if these have fewer columns.
inline bool SendsProducts(const NeighborLinearOptions& options) {
  return options.out <= options.in;
}

// GraphSAGE of means, or GCN: the map alone.
struct LinearLayerOptions {
  NeighborLinearOptions linear;
  bool last = false;  // Whether no ReLU and dropout follow.
};

struct GinLayerOptions {
  NeighborLinearOptions first_linear;  // W_1, b_1 and eps.
  // Offsets of W_2 and b_2 among the P floats.
  uint64_t weight_offset = 0;
  uint64_t bias_offset = 0;
  bool last = false;  // Whether no ReLU and dropout follow.
};

// A row of H * C columns: head h has those in [h * C, (h + 1) * C).
struct HeadShape {
  int64_t heads = 1;    // H
  int64_t columns = 1;  // C, columns of each head.

  int64_t width() const { return heads * columns; }
};

struct GatLayerOptions {
  int64_t in = 0;
  HeadShape shape;  // Heads and columns of the output, shape.width() in all.
  // Offsets of the parameters among the P floats: W [out, in], a_src [H, C],
  // a_dst [H, C], b [out].
  uint64_t weight_offset = 0;
  uint64_t source_offset = 0;
  uint64_t destination_offset = 0;
  uint64_t bias_offset = 0;
  // Dropout of attention weights in training, [0, 1).
  double attention_dropout = 0;
  // Whether the input is features, whose gradient is not needed.
  bool first = false;
  bool last = false;  // Whether no ReLU and dropout follow.
};

enum class Aggregator : uint8_t {
  // The largest of each column; 0 without neighbours. Messages are not
  // negative. Of equal ones the first edge's counts. The gradient goes to its
  // source alone, and to none if the largest is 0.
  kMax,
  // The mean, weighted by the weights of the block's edges (numbers of visits,
  // after random walks), if it has any; else the plain mean. 0 without
  // neighbours, or if the weights do not add up to more than 0. Weights are not
  // negative.
  kWeightedMean,
};

struct PooledLayerOptions {
  int64_t in = 0;
  int64_t out = 0;
  // Offsets of the parameters among the P floats: Q [in, in], q [in], W_neigh
  // [out, in], W_self [out, in], b [out].
  uint64_t message_weight_offset = 0;
  uint64_t message_bias_offset = 0;
  uint64_t neighbor_offset = 0;
  uint64_t self_offset = 0;
  uint64_t bias_offset = 0;
  Aggregator aggregator = Aggregator::kMax;
  bool unit_rows = false;  // Whether rows are scaled to length 1 after ReLU.
  // Whether the input is features, whose gradient is not needed.
  bool first = false;
  bool last = false;  // Whether no ReLU, scaling and dropout follow.
};

enum class Normalization : uint8_t { kNone, kBatch, kLayer };

// The stage behind a hidden layer: h = dropout(relu(norm(z) + x)).
struct HiddenStageOptions {
  int64_t columns = 0;
  Normalization normalization = Normalization::kNone;
  bool adds_inputs = false;
  // Offsets among the P floats, [columns] each: of scale and shift if it
  // normalises, of the running mean and variance with kBatch.
  uint64_t scale_offset = 0;
  uint64_t shift_offset = 0;
  uint64_t mean_offset = 0;
  uint64_t variance_offset = 0;
};

// Describe layer `layer` of a model of these options, which are valid and whose
// kind has such layers, with the model's parameters.
class LayerDescriber {
 public:
  // Borrows both.
  LayerDescriber(const ModelOptions& options,
                 const std::vector<ParameterInfo>& parameters)
      : options_(options), parameters_(parameters) {}

  LinearLayerOptions Sage(uint32_t layer, ProductOrder order) const;
  LinearLayerOptions Gcn(uint32_t layer, ProductOrder order) const;
  GinLayerOptions Gin(uint32_t layer, ProductOrder order) const;
  GatLayerOptions Gat(uint32_t layer) const;
  // Returns the layer of GraphSAGE with pooling, or of PinSAGE.
  PooledLayerOptions Pooled(uint32_t layer) const;
  // Returns the stage behind the layer. nullopt: there is none, and a hidden
  // layer ends in ReLU and dropout itself.
  std::optional<HiddenStageOptions> Stage(uint32_t layer) const;

 private:
  bool EndsPlainly(uint32_t layer) const;
  uint64_t OffsetOf(const char* part, uint32_t layer, const char* name) const;
  NeighborLinearOptions LinearOf(uint32_t layer, ProductOrder order) const;

  const ModelOptions& options_;
  const std::vector<ParameterInfo>& parameters_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_LAYER_OPTIONS_H_
