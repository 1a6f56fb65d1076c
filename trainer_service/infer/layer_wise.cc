#include "trainer_service/infer/layer_wise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/threads/first_error.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/infer/chunk_loops.h"
#include "trainer_service/infer/device_layers.h"
#include "trainer_service/infer/inference_arrays.h"
#include "trainer_service/infer/layer_results.h"

namespace fgnn {
namespace {

constexpr uint64_t kDegreesPerChunk = 1 << 16;

class LayerWise {
 public:
  // Infers the first `num_layers` layers, whose outputs go to `consume`.
  LayerWise(const InferenceInput& input, uint32_t num_layers,
            RowsConsumer consume)
      : input_(input),
        model_(*input.model),
        num_layers_(num_layers),
        num_nodes_(input.graph->num_nodes()),
        consume_(consume),
        loops_(&input),
        results_(&input, num_layers, &loops_),
        arrays_(&input),
        worker_arrays_(static_cast<size_t>(input.team->size())) {}

  absl::Status Run(absl::Span<const GlobalId> vertices) {
    FGNN_RETURN_IF_ERROR(arrays_.Reserve());
    FGNN_RETURN_IF_ERROR(MeasureDegrees());
    if (input_.device != nullptr) {
      FGNN_RETURN_IF_ERROR(device_.emplace(&input_).Begin(&arrays_));
    }
    // Finds the vertices that are needed, from the last layer down.
    std::vector<std::vector<GlobalId>> sources(num_layers_);
    for (uint32_t layer = num_layers_; layer-- > 0;) {
      const absl::Span<const GlobalId> above =
          layer + 1 == num_layers_ ? vertices
                                   : absl::MakeConstSpan(sources[layer + 1]);
      FGNN_ASSIGN_OR_RETURN(uint8_t* const marks, arrays_.ReserveMarks());
      FGNN_ASSIGN_OR_RETURN(sources[layer],
                            SourcesOf(*input_.graph, above, marks, &loops_));
    }
    loops_.SetWork(Work(sources, vertices.size()));
    for (uint32_t layer = 0; layer < num_layers_; ++layer) {
      layer_ = model_.Inference(layer, input_.weights);
      FGNN_RETURN_IF_ERROR(PrepareMessages(layer, sources[layer]));
      const bool last = layer + 1 == num_layers_;
      FGNN_RETURN_IF_ERROR(UpdateAll(
          layer, last ? vertices : absl::MakeConstSpan(sources[layer + 1])));
    }
    return absl::OkStatus();
  }

 private:
  // Memory of one worker.
  struct WorkerArrays {
    Scratch<float> inputs;
    Scratch<float> aggregates;
    Scratch<float> outputs;
    ListsOfNodes lists;
    Scratch<uint32_t> indices;
  };

  // Counts the vertices whose messages and outputs are computed, layer by
  // layer.
  uint64_t Work(const std::vector<std::vector<GlobalId>>& sources,
                uint64_t num_vertices) const {
    uint64_t work = num_vertices;
    for (uint32_t layer = 0; layer < num_layers_; ++layer) {
      if (NeedsMessageArray(input_, layer)) work += sources[layer].size();
      if (layer > 0) work += sources[layer].size();
    }
    return work;
  }

  absl::Status MeasureDegrees() {
    float* const scales = arrays_.degree_scales();
    if (scales == nullptr) return absl::OkStatus();
    const int64_t num_chunks = static_cast<int64_t>(
        (num_nodes_ + kDegreesPerChunk - 1) / kDegreesPerChunk);
    return loops_.Run(num_chunks, [&](int64_t chunk, int /*worker*/) {
      const uint64_t first = static_cast<uint64_t>(chunk) * kDegreesPerChunk;
      const uint64_t last = std::min(first + kDegreesPerChunk, num_nodes_);
      for (uint64_t v = first; v < last; ++v) {
        FGNN_ASSIGN_OR_RETURN(const EdgeList list,
                              ReadEdgeList(*input_.graph, v));
        scales[v] = 1.0F / std::sqrt(static_cast<float>(list.degree + 1));
      }
      return absl::OkStatus();
    });
  }

  static RowsPlace InputsOf(uint32_t layer) {
    return layer == 0 ? RowsPlace::kFeatures : RowsPlace::kHidden;
  }

  // Copies rows of the layer's input, [nodes.size(), input_width].
  absl::Status CopyInputs(uint32_t layer, absl::Span<const GlobalId> nodes,
                          float* out) const {
    if (layer == 0) return input_.features->CopyRows(nodes, out);
    const uint64_t width = model_.options().hidden;
    const float* const hidden = arrays_.hidden();
    for (size_t i = 0; i < nodes.size(); ++i) {
      std::copy_n(hidden + nodes[i] * width, width, out + i * width);
    }
    return absl::OkStatus();
  }

  // Fills messages_source_ [N, message_width] with the messages of `sources`.
  absl::Status PrepareMessages(uint32_t layer,
                               absl::Span<const GlobalId> sources) {
    if (!NeedsMessageArray(input_, layer)) {
      messages_source_ =
          layer == 0 ? input_.features->AsFloats() : arrays_.hidden();
      return absl::OkStatus();
    }
    float* const messages = arrays_.messages();
    messages_source_ = messages;
    loops_.NextDoes(sources.size());
    const int64_t num_chunks =
        NumTasks(static_cast<int64_t>(sources.size()), kRowsPerChunk);
    if (device_.has_value() && model_.SendsProducts(layer)) {
      return loops_.RunRanges(num_chunks, [&](int64_t first, int64_t last) {
        const size_t begin = static_cast<size_t>(first) * kRowsPerChunk;
        return MakeMessagesOnDevice(
            layer, sources.subspan(begin, static_cast<size_t>(last - first) *
                                              kRowsPerChunk));
      });
    }
    return loops_.Run(num_chunks, [&](int64_t chunk, int worker) {
      return MakeMessages(
          layer,
          sources.subspan(static_cast<size_t>(chunk) * kRowsPerChunk,
                          kRowsPerChunk),
          worker_arrays_[static_cast<size_t>(worker)]);
    });
  }

  absl::Status MakeMessages(uint32_t layer, absl::Span<const GlobalId> nodes,
                            WorkerArrays& arrays) {
    const uint64_t in = model_.options().input_width(layer);
    const uint64_t width = model_.message_width(layer);
    float* rows = arrays.inputs.Reserve(nodes.size() * in);
    FGNN_RETURN_IF_ERROR(CopyInputs(layer, nodes, rows));
    if (model_.SendsProducts(layer)) {
      float* made = arrays.outputs.Reserve(nodes.size() * width);
      layer_->Messages(rows, static_cast<int64_t>(nodes.size()), made);
      rows = made;
    }
    TakeMessages(layer, nodes, rows);
    return absl::OkStatus();
  }

  void TakeMessages(uint32_t layer, absl::Span<const GlobalId> nodes,
                    const float* rows) {
    const uint64_t width = model_.message_width(layer);
    float* const messages = arrays_.messages();
    for (size_t i = 0; i < nodes.size(); ++i) {
      std::copy_n(rows + i * width, width, messages + nodes[i] * width);
    }
  }

  absl::Status MakeMessagesOnDevice(uint32_t layer,
                                    absl::Span<const GlobalId> nodes) {
    const auto copy = [&](absl::Span<const GlobalId> of, float* out) {
      return CopyInputs(layer, of, out);
    };
    const auto take = [&](size_t first, size_t rows, const float* values) {
      TakeMessages(layer, nodes.subspan(first, rows), values);
    };
    return device_->Messages(
        layer, nodes,
        {model_.options().input_width(layer), copy, InputsOf(layer)},
        {model_.message_width(layer), take, RowsPlace::kMessages},
        [&](size_t first, size_t last) {
          return RunOnCores(nodes.subspan(first, last - first),
                            [&](size_t, absl::Span<const GlobalId> part,
                                WorkerArrays& arrays) {
                              return MakeMessages(layer, part, arrays);
                            });
        });
  }

  absl::Status UpdateAll(uint32_t layer, absl::Span<const GlobalId> nodes) {
    FGNN_ASSIGN_OR_RETURN(const std::vector<size_t> starts,
                          CutIntoChunks(*input_.graph, nodes));
    const int64_t num_chunks = static_cast<int64_t>(starts.size()) - 1;
    loops_.NextDoes(nodes.size());
    const auto part_of = [&](int64_t first, int64_t last) {
      const size_t begin = starts[static_cast<size_t>(first)];
      return nodes.subspan(begin, starts[static_cast<size_t>(last)] - begin);
    };
    const auto on_device = [&](int64_t first, int64_t last) {
      return UpdateOnDevice(layer, part_of(first, last),
                            starts[static_cast<size_t>(first)]);
    };
    const auto on_cores = [&](int64_t chunk, int worker) {
      return UpdateChunk(layer, part_of(chunk, chunk + 1),
                         starts[static_cast<size_t>(chunk)],
                         worker_arrays_[static_cast<size_t>(worker)]);
    };
    FGNN_RETURN_IF_ERROR(results_.Share(layer, nodes, starts));
    FGNN_RETURN_IF_ERROR(device_.has_value()
                             ? loops_.RunRanges(num_chunks, on_device)
                             : loops_.Run(num_chunks, on_cores));
    return results_.TakeOthers(
        layer, [&](size_t first, size_t rows, const float* values) {
          TakeOutputs(layer, nodes.subspan(first, rows), first, values);
        });
  }

  absl::Status UpdateOnDevice(uint32_t layer, absl::Span<const GlobalId> nodes,
                              size_t first_of_all) {
    const uint64_t width = model_.message_width(layer);
    const uint64_t out = model_.options().output_width(layer);
    // Features are perhaps copies of them, in f32.
    const RowsPlace sent =
        model_.SendsProducts(layer) ? RowsPlace::kMessages : InputsOf(layer);
    const RowsPlace to =
        layer + 1 == num_layers_ ? RowsPlace::kHost : RowsPlace::kHidden;
    const auto messages = [&](absl::Span<const GlobalId> of, float* rows) {
      for (size_t i = 0; i < of.size(); ++i) {
        std::copy_n(messages_source_ + of[i] * width, width, rows + i * width);
      }
      return absl::OkStatus();
    };
    const auto inputs = [&](absl::Span<const GlobalId> of, float* rows) {
      return CopyInputs(layer, of, rows);
    };
    const auto take = [&](size_t first, size_t rows, const float* values) {
      results_.Give(layer, first_of_all + first, rows, values);
      TakeOutputs(layer, nodes.subspan(first, rows), first_of_all + first,
                  values);
    };
    return device_->Update(
        layer, nodes,
        {arrays_.degree_scales(),
         {width, messages, sent},
         {model_.options().input_width(layer), inputs, InputsOf(layer)},
         {out, take, to}},
        [&](size_t first, size_t last) {
          return RunOnCores(nodes.subspan(first, last - first),
                            [&](size_t at, absl::Span<const GlobalId> part,
                                WorkerArrays& arrays) {
                              return UpdateChunk(layer, part,
                                                 first_of_all + first + at,
                                                 arrays);
                            });
        });
  }

  // Calls work(first, part, arrays) for chunks of `nodes` on the team.
  template <typename Work>
  absl::Status RunOnCores(absl::Span<const GlobalId> nodes, const Work& work) {
    FGNN_ASSIGN_OR_RETURN(const std::vector<size_t> starts,
                          CutIntoChunks(*input_.graph, nodes));
    FirstError failed;
    FGNN_RETURN_IF_ERROR(input_.team->Run(
        static_cast<int64_t>(starts.size()) - 1,
        [&](int64_t chunk, int worker) {
          const size_t first = starts[static_cast<size_t>(chunk)];
          const size_t last = starts[static_cast<size_t>(chunk) + 1];
          if (input_.check && !failed.any()) failed.Note(input_.check());
          if (failed.any()) return;
          failed.Note(work(first, nodes.subspan(first, last - first),
                           worker_arrays_[static_cast<size_t>(worker)]));
        }));
    return failed.status();
  }

  absl::Status UpdateChunk(uint32_t layer, absl::Span<const GlobalId> nodes,
                           size_t first, WorkerArrays& arrays) {
    const uint64_t in = model_.options().input_width(layer);
    const uint64_t out = model_.options().output_width(layer);
    const uint64_t width = model_.aggregate_width(layer);
    const auto rows = static_cast<int64_t>(nodes.size());
    float* aggregates = arrays.aggregates.Reserve(nodes.size() * width);
    FGNN_ASSIGN_OR_RETURN(const RowLists lists, ListsOf(nodes, arrays));
    layer_->Aggregate(lists, 0, rows, messages_source_, aggregates);
    float* inputs = nullptr;
    if (layer_->UpdateReadsInputs()) {
      inputs = arrays.inputs.Reserve(nodes.size() * in);
      FGNN_RETURN_IF_ERROR(CopyInputs(layer, nodes, inputs));
    }
    float* outputs = arrays.outputs.Reserve(nodes.size() * out);
    layer_->Update(inputs, aggregates, rows, outputs);
    results_.Give(layer, first, nodes.size(), outputs);
    TakeOutputs(layer, nodes, first, outputs);
    return absl::OkStatus();
  }

  void TakeOutputs(uint32_t layer, absl::Span<const GlobalId> nodes,
                   size_t first, const float* outputs) {
    if (layer + 1 == num_layers_) {
      return consume_(first, static_cast<int64_t>(nodes.size()), outputs);
    }
    const uint64_t out = model_.options().output_width(layer);
    // Written over the layer's own input: no other task reads these rows, as a
    // layer between hidden ones sends products.
    float* const hidden = arrays_.hidden();
    for (size_t i = 0; i < nodes.size(); ++i) {
      std::copy_n(outputs + i * out, out, hidden + nodes[i] * out);
    }
  }

  // The chunk had no more edges when it was cut.
  absl::StatusOr<RowLists> ListsOf(absl::Span<const GlobalId> nodes,
                                   WorkerArrays& arrays) const {
    ListsOfNodes& lists = arrays.lists;
    FGNN_RETURN_IF_ERROR(ReadLists(*input_.graph, nodes,
                                   nodes.size() > 1
                                       ? kEdgesPerChunk
                                       : std::numeric_limits<uint32_t>::max(),
                                   &lists));
    uint32_t* indices = arrays.indices.Reserve(lists.indptr.back());
    uint32_t* next = indices;
    for (const EdgeList& list : lists.lists) {
      FGNN_RETURN_IF_ERROR(ForEachSource(*input_.graph, list,
                                         [&next](GlobalId u) { *next++ = u; }));
    }
    return RowLists{lists.indptr.data(), indices, nodes.data(),
                    arrays_.degree_scales()};
  }

  const InferenceInput& input_;
  const Model& model_;
  const uint32_t num_layers_;
  const uint64_t num_nodes_;
  const RowsConsumer consume_;
  ChunkLoops loops_;
  LayerResults results_;
  InferenceArrays arrays_;
  std::optional<DeviceLayers> device_;
  std::unique_ptr<const LayerInference> layer_;  // The current layer.
  std::vector<WorkerArrays> worker_arrays_;
  // The rows that the layer aggregates.
  const float* messages_source_ = nullptr;
};

absl::Status Infer(const InferenceInput& input, uint32_t num_layers,
                   absl::Span<const GlobalId> vertices, RowsConsumer consume) {
  const ModelOptions& options = input.model->options();
  const uint64_t num_nodes = input.graph->num_nodes();
  if (input.features->num_columns() != options.input_columns ||
      input.features->num_rows() != num_nodes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the model takes ", options.input_columns,
        " feature columns; the dataset has ", input.features->num_columns(),
        " of ", input.features->num_rows(), " vertices in a graph of ",
        num_nodes));
  }
  FGNN_RETURN_IF_ERROR(CheckNodes(vertices, num_nodes));
  try {
    return LayerWise(input, num_layers, consume).Run(vertices);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat("out of memory for inference over ", num_nodes,
                     " vertices; use a smaller model.hidden"));
  } catch (const std::runtime_error& thrown) {
    return absl::InvalidArgumentError(thrown.what());
  }
}

}  // namespace

absl::Status InferLogits(const InferenceInput& input,
                         absl::Span<const GlobalId> vertices,
                         RowsConsumer consume) {
  return Infer(input, input.model->options().layers, vertices, consume);
}

absl::Status InferEmbeddings(const InferenceInput& input,
                             absl::Span<const GlobalId> vertices,
                             RowsConsumer consume) {
  const uint32_t layers = input.model->options().layers;
  if (input.model->options().predicts_links()) {
    return Infer(input, layers, vertices, consume);
  }
  if (layers == 1) {
    return absl::InvalidArgumentError(
        "a model of one layer has no embeddings: its layer is given features");
  }
  return Infer(input, layers - 1, vertices, consume);
}

}  // namespace fgnn
