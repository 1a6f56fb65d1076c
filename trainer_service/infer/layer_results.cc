#include "trainer_service/infer/layer_results.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/device/memory.h"
#include "shared/executors/chunk_division.h"

namespace fgnn {

absl::Status LayerResults::Share(uint32_t layer,
                                 absl::Span<const GlobalId> nodes,
                                 absl::Span<const size_t> starts) {
  ChunkBoard* const board = input_.chunks();
  if (board == nullptr) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(const std::vector<uint64_t> work_before,
                        WorkBefore(*input_.graph, nodes, starts));
  const LoopShape shape = {.starts = {starts.begin(), starts.end()},
                           .ends = EndsOfHosts(board->division(), work_before),
                           .columns = static_cast<uint32_t>(
                               input_.model->options().output_width(layer))};
  FGNN_RETURN_IF_ERROR(
      CheckMemory(input_.shared->Growth(LoopBytes(shape)),
                  absl::StrCat("the outputs of layer ", layer + 1, " for ",
                               nodes.size(), " vertices need"),
                  "set hosts.evaluation to head"));
  FGNN_RETURN_IF_ERROR(
      input_.shared->ReserveResults(layer, num_layers_, shape));
  loops_.NextIsOfHosts(layer);
  return absl::OkStatus();
}

void LayerResults::Give(uint32_t layer, size_t first, size_t rows,
                        const float* outputs) {
  if (input_.chunks() == nullptr) return;
  const uint64_t columns = input_.model->options().output_width(layer);
  std::copy_n(outputs, rows * columns,
              input_.chunks()->AllRows(layer) + first * columns);
}

absl::Status LayerResults::TakeOthers(uint32_t layer, Taker take) {
  ChunkBoard* const board = input_.chunks();
  if (board == nullptr) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(const LoopShape* const shape, board->Find(layer));
  const uint32_t self = board->division().self;
  const uint32_t own_begin = shape->first_of(self);
  const uint32_t num_own = shape->end_of(self) - own_begin;
  return loops_.Run(int64_t{shape->num_chunks()} - num_own,
                    [&](int64_t place, int /*worker*/) {
                      auto chunk = static_cast<uint32_t>(place);
                      if (chunk >= own_begin) chunk += num_own;
                      const uint64_t first = shape->starts[chunk];
                      take(first, shape->starts[chunk + 1] - first,
                           board->Rows(layer, chunk).data());
                      return absl::OkStatus();
                    });
}

}  // namespace fgnn
