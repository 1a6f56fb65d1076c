// The graph that plugins are given.
#ifndef FGNN_SAMPLER_SERVICE_PLUGIN_PLUGIN_GRAPH_H_
#define FGNN_SAMPLER_SERVICE_PLUGIN_PLUGIN_GRAPH_H_

#include <cstdint>

namespace fgnn {

// A graph in compressed sparse columns. Vertices are in [0, num_nodes()). The
// dataset's files may change meanwhile. Then a list is empty or ends sooner,
// and num_nodes() stands for a neighbour that is none; the job fails.
class PluginGraph {
 public:
  // Either `narrow` or `wide` is null; `weights` may be null.
  PluginGraph(uint64_t num_nodes, uint64_t num_edges, const int64_t* indptr,
              const uint32_t* narrow, const int64_t* wide, const float* weights)
      : num_nodes_(num_nodes),
        indptr_(indptr),
        narrow_(narrow),
        wide_(wide),
        weights_(weights),
        num_edges_(num_edges) {}

  uint64_t num_nodes() const { return num_nodes_; }
  // Returns the number of in-neighbours of v.
  uint64_t degree(uint32_t v) const {
    if (v >= num_nodes_) return 0;
    const int64_t begin = ReadOnce(indptr_[v]);
    const int64_t end = ReadOnce(indptr_[uint64_t{v} + 1]);
    return begin < 0 || end < begin || static_cast<uint64_t>(end) > num_edges_
               ? 0
               : static_cast<uint64_t>(end - begin);
  }
  // Returns the i-th in-neighbour of v, i < degree(v).
  uint32_t neighbor(uint32_t v, uint64_t i) const {
    const uint64_t edge = EdgeOf(v, i);
    const uint64_t u = edge == num_edges_ ? num_nodes_
                       : narrow_ != nullptr
                           ? ReadOnce(narrow_[edge])
                           : static_cast<uint64_t>(ReadOnce(wide_[edge]));
    return static_cast<uint32_t>(u < num_nodes_ ? u : num_nodes_);
  }
  // Returns the weight of the edge from the i-th in-neighbour; 1 in a dataset
  // without edge_weights.npy.
  float weight(uint32_t v, uint64_t i) const {
    if (weights_ == nullptr) return 1.0F;
    const uint64_t edge = EdgeOf(v, i);
    return edge == num_edges_ ? 0.0F : weights_[edge];
  }

 private:
  // The compiler reads the value once: what is checked is what is used.
  template <typename T>
  static T ReadOnce(const T& value) {
    return *const_cast<const volatile T*>(&value);
  }
  // Returns the place of an edge; num_edges_: there is no such edge.
  uint64_t EdgeOf(uint32_t v, uint64_t i) const {
    if (v >= num_nodes_) return num_edges_;
    const int64_t begin = ReadOnce(indptr_[v]);
    if (begin < 0 || static_cast<uint64_t>(begin) > num_edges_) {
      return num_edges_;
    }
    const uint64_t left = num_edges_ - static_cast<uint64_t>(begin);
    return i < left ? static_cast<uint64_t>(begin) + i : num_edges_;
  }

  uint64_t num_nodes_;
  const int64_t* indptr_;
  const uint32_t* narrow_;
  const int64_t* wide_;
  const float* weights_;
  uint64_t num_edges_;
};

// The entry that a plugin exports: see FGNN_SAMPLER_PLUGIN, FGNN_CACHE_PLUGIN.
template <typename Plugin>
struct PluginEntry {
  uint32_t version;
  Plugin* (*create)();
  void (*destroy)(Plugin*);
};

}  // namespace fgnn

#define FGNN_PLUGIN_ENTRY_(Class, Plugin, symbol, version)              \
  extern "C" __attribute__((visibility("default")))                     \
  const ::fgnn::PluginEntry<::fgnn::Plugin>                             \
      symbol;                                                           \
  const ::fgnn::PluginEntry<::fgnn::Plugin> symbol = {                  \
      ::fgnn::version, []() -> ::fgnn::Plugin* { return new Class(); }, \
      [](::fgnn::Plugin* plugin) { delete plugin; }}

#endif  // FGNN_SAMPLER_SERVICE_PLUGIN_PLUGIN_GRAPH_H_
