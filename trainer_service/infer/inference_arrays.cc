#include "trainer_service/infer/inference_arrays.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "shared/base/status.h"
#include "shared/device/memory.h"
#include "shared/graph/array_places.h"
#include "trainer_service/infer/inference_device.h"
#include "trainer_service/infer/shared_inference.h"

namespace fgnn {

absl::Status ReadLists(const CscView& graph, absl::Span<const GlobalId> nodes,
                       uint64_t most_edges, ListsOfNodes* lists) {
  lists->lists.clear();
  lists->indptr.assign(1, 0);
  uint64_t num_edges = 0;
  for (const GlobalId v : nodes) {
    FGNN_ASSIGN_OR_RETURN(lists->lists.emplace_back(), ReadEdgeList(graph, v));
    num_edges += lists->lists.back().degree;
    if (num_edges > most_edges) {
      return ChangedDataset(absl::StrCat("csc_indptr.npy gives ", nodes.size(),
                                         " vertices more than ", most_edges,
                                         " edges, and gave them fewer before"));
    }
    lists->indptr.push_back(static_cast<uint32_t>(num_edges));
  }
  return absl::OkStatus();
}

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

KeptWidths WidthsToKeep(const InferenceInput& input) {
  KeptWidths widths = {.hidden = WidthsOf(input).hidden, .messages = 0};
  for (uint32_t layer = 0; layer < input.model->options().layers; ++layer) {
    if (input.model->SendsProducts(layer)) {
      widths.messages =
          std::max(widths.messages, input.model->message_width(layer));
    }
  }
  return widths;
}

uint64_t KeptBytes(const InferenceInput& input) {
  const KeptWidths widths = WidthsToKeep(input);
  return input.graph->num_nodes() * (widths.hidden + widths.messages) *
         sizeof(float);
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
  // A device needs a place for each vertex, for its blocks.
  const uint64_t of_device =
      input.device == nullptr
          ? 0
          : num_nodes * sizeof(uint32_t) +
                input.device->HostBytes(num_nodes, input.graph->num_edges());
  return InferenceArrayBytes(input) + lists + of_device +
         static_cast<uint64_t>(input.team->size()) * per_thread;
}

absl::Status InferenceArrays::Reserve() {
  const uint64_t num_nodes = input_.graph->num_nodes();
  const ArrayWidths widths = WidthsOf(input_);
  uint64_t need = widths.Bytes(num_nodes);
  // The first process has already reserved the shared memory, so only its
  // growth is needed.
  if (input_.shared != nullptr) need = input_.shared->Growth(need);
  FGNN_RETURN_IF_ERROR(CheckMemory(
      need,
      absl::StrCat("full-neighbour inference over ", num_nodes,
                   " vertices needs"),
      "set training.evaluate_every to 0 or use a smaller model.hidden"));
  FGNN_ASSIGN_OR_RETURN(
      messages_,
      ReserveArray(input_.shared, num_nodes * widths.messages, own_messages_));
  FGNN_ASSIGN_OR_RETURN(
      hidden_,
      ReserveArray(input_.shared, num_nodes * widths.hidden, own_hidden_));
  if (widths.degree_scales == 0) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(degree_scales_, ReserveArray(input_.shared, num_nodes,
                                                     own_degree_scales_));
  return absl::OkStatus();
}

absl::StatusOr<uint8_t*> InferenceArrays::ReserveMarks() {
  const uint64_t num_nodes = input_.graph->num_nodes();
  FGNN_ASSIGN_OR_RETURN(uint8_t* const marks,
                        ReserveArray(input_.shared, num_nodes, own_marks_));
  if (input_.shared == nullptr) std::fill_n(marks, num_nodes, uint8_t{0});
  return marks;
}

}  // namespace fgnn
