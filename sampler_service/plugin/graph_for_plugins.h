// Shows a dataset's graph to plugins.
#ifndef FGNN_SAMPLER_SERVICE_PLUGIN_GRAPH_FOR_PLUGINS_H_
#define FGNN_SAMPLER_SERVICE_PLUGIN_GRAPH_FOR_PLUGINS_H_

#include <cstdint>
#include <variant>

#include "absl/types/span.h"
#include "sampler_service/plugin/plugin_graph.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// Returns a view that borrows both arguments. edge_weights [num_edges], or
// empty.
inline PluginGraph GraphForPlugins(const CscView& graph,
                                   absl::Span<const float> edge_weights) {
  const auto* const narrow =
      std::get_if<absl::Span<const uint32_t>>(&graph.indices);
  const auto* const wide =
      std::get_if<absl::Span<const int64_t>>(&graph.indices);
  return PluginGraph(graph.num_nodes(), graph.num_edges(), graph.indptr.data(),
                     narrow == nullptr ? nullptr : narrow->data(),
                     wide == nullptr ? nullptr : wide->data(),
                     edge_weights.empty() ? nullptr : edge_weights.data());
}

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_PLUGIN_GRAPH_FOR_PLUGINS_H_
