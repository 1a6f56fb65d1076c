#include "trainer_service/infer/inference_arrays.h"

#include <algorithm>

namespace fgnn {

bool NeedsMessageArray(const InferenceInput& input, uint32_t layer) {
  if (input.model->SendsProducts(layer)) return true;
  return layer == 0 && input.features->AsFloats() == nullptr;
}

ArrayWidths WidthsOf(const InferenceInput& input) {
  const ModelOptions& options = input.model->options();
  ArrayWidths widths;
  for (uint32_t layer = 0; layer < options.layers; ++layer) {
    if (NeedsMessageArray(input, layer)) {
      widths.messages =
          std::max(widths.messages, input.model->message_width(layer));
    }
  }
  widths.hidden = options.layers > 1 ? options.hidden : 0;
  widths.degree_scales = options.divides_by_degrees() ? 1 : 0;
  return widths;
}

uint64_t InferenceArrayBytes(const InferenceInput& input) {
  const uint64_t num_nodes = input.graph->num_nodes();
  // The arrays, and a mark for each layer.
  return WidthsOf(input).Bytes(num_nodes) +
         input.model->options().layers * num_nodes;
}

uint64_t InferenceBytes(const InferenceInput& input) {
  const ModelOptions& options = input.model->options();
  const uint64_t num_nodes = input.graph->num_nodes();
  uint64_t rows_in = 0;
  uint64_t rows_made = 0;
  uint64_t rows_out = 0;
  for (uint32_t layer = 0; layer < options.layers; ++layer) {
    rows_in = std::max(rows_in, options.input_width(layer));
    rows_made = std::max({rows_made, input.model->message_width(layer),
                          input.model->aggregate_width(layer)});
    // Messages are made in the same memory.
    rows_out = std::max(rows_out, options.output_width(layer));
    if (input.model->SendsProducts(layer)) {
      rows_out = std::max(rows_out, input.model->message_width(layer));
    }
  }
  uint64_t largest_degree = 0;
  // Our own layers sum neighbours where they lie; only users' layers need
  // memory that grows with the degree.
  for (GlobalId v = 0; options.is_users() && v < num_nodes; ++v) {
    largest_degree = std::max(largest_degree, DegreeOf(*input.graph, v));
  }
  const uint64_t per_thread =
      (kRowsPerChunk * (rows_in + rows_made + rows_out) +
       std::min(kEdgesPerChunk, input.graph->num_edges())) *
          sizeof(float) +
      input.model->inference_working_bytes(largest_degree);
  // Lists of each layer's sources, and of the vertices that are asked for.
  const uint64_t lists = (options.layers + 1) * num_nodes * sizeof(GlobalId);
  return InferenceArrayBytes(input) + lists +
         static_cast<uint64_t>(input.team->size()) * per_thread;
}

}  // namespace fgnn
