#include "trainer_service/infer/device_layers.h"

#include <algorithm>

#include "shared/base/status.h"
#include "shared/base/threads/first_error.h"
#include "shared/graph/array_places.h"

namespace fgnn {

DeviceLayers::DeviceLayers(const InferenceInput* input)
    : input_(*input),
      device_(*input->device),
      team_(*input->team),
      blocks_(input->graph, input->team) {}

absl::Status DeviceLayers::Begin(const InferenceArrays* arrays) {
  arrays_ = arrays;
  const absl::Status begun = device_.Begin(input_.weights);
  on_cores_ = absl::IsResourceExhausted(begun);
  if (on_cores_) return absl::OkStatus();
  FGNN_RETURN_IF_ERROR(begun);
  // Others read what this process makes.
  if (!input_.keeps_on_device || input_.shared != nullptr) return begun;
  FGNN_ASSIGN_OR_RETURN(
      keeps_, device_.Keep(input_.graph->num_nodes(), WidthsToKeep(input_)));
  return absl::OkStatus();
}

absl::Status DeviceLayers::GiveBack() {
  if (!keeps_) return absl::OkStatus();
  keeps_ = false;
  return device_.GiveBack(has_hidden_ ? arrays_->hidden() : nullptr,
                          has_messages_ ? arrays_->messages() : nullptr);
}

RowsPlace DeviceLayers::PlaceOf(RowsPlace place) const {
  return keeps_ || place == RowsPlace::kFeatures ? place : RowsPlace::kHost;
}

InferenceDevice::Results DeviceLayers::ResultsOf(
    const Results& results, absl::Span<const GlobalId> nodes,
    InferenceDevice::Sink take) {
  const RowsPlace place = PlaceOf(results.place);
  if (place == RowsPlace::kHidden) has_hidden_ = true;
  if (place == RowsPlace::kMessages) has_messages_ = true;
  return {take, place, nodes};
}

absl::Status DeviceLayers::Run(
    size_t count, absl::FunctionRef<size_t(size_t first)> end_of_room,
    absl::FunctionRef<absl::Status(size_t, size_t)> on_device,
    OnCores on_cores) {
  for (size_t first = 0; first < count;) {
    if (on_cores_) {
      FGNN_RETURN_IF_ERROR(GiveBack());
      return on_cores(first, count);
    }
    const size_t last = end_of_room(first);
    if (last == first) {
      FGNN_RETURN_IF_ERROR(GiveBack());
      FGNN_RETURN_IF_ERROR(on_cores(first, first + 1));
      ++first;
      continue;
    }
    const absl::Status status = on_device(first, last);
    if (absl::IsResourceExhausted(status)) {
      on_cores_ = !device_.TakeLess();
      continue;
    }
    FGNN_RETURN_IF_ERROR(status);
    first = last;
  }
  return absl::OkStatus();
}

absl::Status DeviceLayers::Messages(uint32_t layer,
                                    absl::Span<const GlobalId> nodes,
                                    const RowsOfNodes& inputs,
                                    const Results& messages, OnCores on_cores) {
  return Run(
      nodes.size(),
      [&](size_t first) {
        uint64_t rows = nodes.size() - first;
        while (rows > 0 && !device_.HasRoomForMessages(layer, rows)) rows /= 2;
        return first + rows;
      },
      [&](size_t first, size_t last) {
        const auto part = nodes.subspan(first, last - first);
        const auto copy = [&](uint64_t at, uint64_t rows, float* out) {
          return Copy(inputs, part.subspan(at, rows), out);
        };
        const auto take = [&](uint64_t at, uint64_t rows, const float* values) {
          return Take(messages, first + at, rows, values);
        };
        return device_.Messages(layer, last - first,
                                {copy, PlaceOf(inputs.place), part},
                                ResultsOf(messages, part, take));
      },
      on_cores);
}

size_t DeviceLayers::EndOfRoom(uint32_t layer, absl::Span<const GlobalId> nodes,
                               size_t first) const {
  // Destinations may repeat; the other sources do not.
  const uint64_t num_nodes = input_.graph->num_nodes();
  BlockSize most;
  for (size_t last = first; last < nodes.size(); ++last) {
    most.entries += DegreeOf(*input_.graph, nodes[last]);
    ++most.destinations;
    most.sources = most.destinations + std::min(most.entries, num_nodes);
    if (!device_.HasRoom(layer, most)) return last;
  }
  return nodes.size();
}

absl::Status DeviceLayers::Update(uint32_t layer,
                                  absl::Span<const GlobalId> nodes,
                                  const UpdateRows& rows, OnCores on_cores) {
  return Run(
      nodes.size(),
      [&](size_t first) { return EndOfRoom(layer, nodes, first); },
      [&](size_t first, size_t last) {
        return UpdateOnDevice(layer, nodes.subspan(first, last - first), first,
                              rows);
      },
      on_cores);
}

absl::Status DeviceLayers::UpdateOnDevice(uint32_t layer,
                                          absl::Span<const GlobalId> nodes,
                                          size_t first,
                                          const UpdateRows& rows) {
  FGNN_RETURN_IF_ERROR(blocks_.Make(nodes, rows.degree_scales));
  // The room was taken for the lists as they were when the part was cut.
  if (!device_.HasRoom(layer, {.destinations = nodes.size(),
                               .sources = blocks_.sources().size(),
                               .entries = blocks_.block().indices.size()})) {
    return ChangedDataset("csc_indptr.npy has longer lists than before");
  }
  const auto messages = [&](uint64_t at, uint64_t count, float* out) {
    return Copy(rows.messages, blocks_.sources().subspan(at, count), out);
  };
  const auto inputs = [&](uint64_t at, uint64_t count, float* out) {
    return Copy(rows.inputs, nodes.subspan(at, count), out);
  };
  const auto take = [&](uint64_t at, uint64_t count, const float* values) {
    return Take(rows.outputs, first + at, count, values);
  };
  return device_.Update(
      layer, blocks_.block(),
      {messages, PlaceOf(rows.messages.place), blocks_.sources()},
      {inputs, PlaceOf(rows.inputs.place), nodes},
      ResultsOf(rows.outputs, nodes, take));
}

absl::Status DeviceLayers::ForRows(
    uint64_t rows,
    absl::FunctionRef<absl::Status(uint64_t, uint64_t)> work) const {
  FirstError failed;
  FGNN_RETURN_IF_ERROR(team_.Run(
      NumTasks(static_cast<int64_t>(rows), kRowsPerChunk),
      [&](int64_t part, int) {
        const uint64_t first = static_cast<uint64_t>(part) * kRowsPerChunk;
        failed.Note(work(first, std::min(rows, first + kRowsPerChunk)));
      }));
  return failed.status();
}

absl::Status DeviceLayers::Copy(const RowsOfNodes& rows,
                                absl::Span<const GlobalId> nodes,
                                float* out) const {
  return ForRows(nodes.size(), [&](uint64_t first, uint64_t last) {
    return rows.copy(nodes.subspan(first, last - first),
                     out + first * rows.columns);
  });
}

absl::Status DeviceLayers::Take(const Results& results, size_t first,
                                uint64_t rows, const float* values) const {
  return ForRows(rows, [&](uint64_t begin, uint64_t end) {
    results.take(first + begin, end - begin, values + begin * results.columns);
    return absl::OkStatus();
  });
}

}  // namespace fgnn
