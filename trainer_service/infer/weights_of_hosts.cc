#include "trainer_service/infer/weights_of_hosts.h"

#include <algorithm>

#include "shared/base/status.h"

namespace fgnn {
namespace {

absl::Status Reserve(SharedInference* shared, uint32_t num_layers,
                     uint64_t count) {
  return shared->ReserveResults(
      kWeightsLoop, num_layers + 1,
      ShapeOfWeights(shared->chunks()->division(), count));
}

}  // namespace

bool GetsWeights(const SharedInference* shared) {
  return shared != nullptr && shared->chunks() != nullptr &&
         shared->chunks()->division().self != 0;
}

absl::Status GiveWeights(SharedInference* shared, uint32_t num_layers,
                         absl::Span<const float> weights) {
  if (shared == nullptr || shared->chunks() == nullptr) return absl::OkStatus();
  FGNN_RETURN_IF_ERROR(Reserve(shared, num_layers, weights.size()));
  ChunkBoard& board = *shared->chunks();
  if (board.TakeOwn(kWeightsLoop, 1).has_value()) {
    std::copy(weights.begin(), weights.end(), board.AllRows(kWeightsLoop));
    board.NoteHere(kWeightsLoop, 0, 1);
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::Span<const float>> GetWeights(
    SharedInference* shared, uint32_t num_layers, uint64_t count,
    const std::function<absl::Status()>& check) {
  FGNN_RETURN_IF_ERROR(Reserve(shared, num_layers, count));
  ChunkBoard& board = *shared->chunks();
  FGNN_RETURN_IF_ERROR(board.WaitForAll(kWeightsLoop, check));
  return board.Rows(kWeightsLoop, 0);
}

}  // namespace fgnn
