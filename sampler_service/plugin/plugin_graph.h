// The graph that plugins are given.
#ifndef FGNN_SAMPLER_SERVICE_PLUGIN_PLUGIN_GRAPH_H_
#define FGNN_SAMPLER_SERVICE_PLUGIN_PLUGIN_GRAPH_H_

#include <cstdint>

namespace fgnn {

// A graph in compressed sparse columns. Vertices are in [0, num_nodes()).
class PluginGraph {
 public:
  // Either `narrow` or `wide` is null; `weights` may be null.
  PluginGraph(uint64_t num_nodes, const int64_t* indptr, const uint32_t* narrow,
              const int64_t* wide, const float* weights)
      : num_nodes_(num_nodes),
        indptr_(indptr),
        narrow_(narrow),
        wide_(wide),
        weights_(weights) {}

  uint64_t num_nodes() const { return num_nodes_; }
  // Returns the number of in-neighbours of v.
  uint64_t degree(uint32_t v) const {
    return static_cast<uint64_t>(indptr_[uint64_t{v} + 1] - indptr_[v]);
  }
  // Returns the i-th in-neighbour of v, i < degree(v).
  uint32_t neighbor(uint32_t v, uint64_t i) const {
    const uint64_t edge = static_cast<uint64_t>(indptr_[v]) + i;
    return narrow_ != nullptr ? narrow_[edge]
                              : static_cast<uint32_t>(wide_[edge]);
  }
  // Returns the weight of the edge from the i-th in-neighbour; 1 in a dataset
  // without edge_weights.npy.
  float weight(uint32_t v, uint64_t i) const {
    return weights_ != nullptr ? weights_[static_cast<uint64_t>(indptr_[v]) + i]
                               : 1.0F;
  }

 private:
  uint64_t num_nodes_;
  const int64_t* indptr_;
  const uint32_t* narrow_;
  const int64_t* wide_;
  const float* weights_;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_PLUGIN_PLUGIN_GRAPH_H_
