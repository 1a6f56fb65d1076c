#include "trainer_service/infer/device_layers.h"

#include <algorithm>

#include "shared/base/status.h"
#include "shared/base/threads/first_error.h"
#include "trainer_service/infer/inference_arrays.h"

namespace fgnn {
namespace {

InferenceDevice::Rows RowsOf(const DeviceLayers::RowsOfNodes& rows,
                             absl::Span<const GlobalId> nodes,
                             InferenceDevice::Source copy) {
  return {copy, rows.are_features ? nodes : absl::Span<const GlobalId>()};
}

}  // namespace

DeviceLayers::DeviceLayers(const InferenceInput* input)
    : input_(*input),
      device_(*input->device),
      team_(*input->team),
      blocks_(input->graph, input->team) {}

absl::Status DeviceLayers::Begin() {
  const absl::Status begun = device_.Begin(input_.weights);
  on_cores_ = absl::IsResourceExhausted(begun);
  return on_cores_ ? absl::OkStatus() : begun;
}

absl::Status DeviceLayers::Run(
    size_t count, absl::FunctionRef<size_t(size_t first)> end_of_room,
    absl::FunctionRef<absl::Status(size_t, size_t)> on_device,
    OnCores on_cores) {
  for (size_t first = 0; first < count;) {
    if (on_cores_) return on_cores(first, count);
    const size_t last = end_of_room(first);
    if (last == first) {
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
        return device_.Messages(
            layer, last - first, RowsOf(inputs, part, copy),
            [&](uint64_t at, uint64_t rows, const float* values) {
              return Take(messages, first + at, rows, values);
            });
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
  const auto messages = [&](uint64_t at, uint64_t count, float* out) {
    return Copy(rows.messages, blocks_.sources().subspan(at, count), out);
  };
  const auto inputs = [&](uint64_t at, uint64_t count, float* out) {
    return Copy(rows.inputs, nodes.subspan(at, count), out);
  };
  return device_.Update(layer, blocks_.block(),
                        RowsOf(rows.messages, blocks_.sources(), messages),
                        RowsOf(rows.inputs, nodes, inputs),
                        [&](uint64_t at, uint64_t count, const float* values) {
                          return Take(rows.outputs, first + at, count, values);
                        });
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
