#include "trainer_service/nn/cuda/batch_memory.h"

#include <algorithm>
#include <utility>

namespace fgnn {
namespace {

constexpr uint64_t kAlignment = 256;
constexpr uint64_t kLeastPiece = uint64_t{1} << 20;

}  // namespace

void BatchMemory::Start() {
  taken_ = 0;
  if (pieces_.size() <= 1) return;
  const uint64_t all = bytes_;
  pieces_.clear();
  bytes_ = 0;
  // Where there is no such piece, the batch takes what it needs in parts.
  AddPiece(all).IgnoreError();
}

absl::Status BatchMemory::AddPiece(uint64_t least_bytes) {
  FGNN_ASSIGN_OR_RETURN(auto piece, DeviceArray<std::byte>::Make(least_bytes));
  bytes_ += piece.bytes();
  pieces_.push_back(std::move(piece));
  taken_ = 0;
  return absl::OkStatus();
}

absl::StatusOr<std::byte*> BatchMemory::Take(uint64_t bytes) {
  if (bytes > UINT64_MAX - kAlignment) {
    return absl::ResourceExhaustedError("an array is too large");
  }
  const uint64_t rounded =
      std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (pieces_.empty() || pieces_.back().bytes() - taken_ < rounded) {
    // Pieces double, so that a first batch has few of them.
    const uint64_t wanted = std::max({rounded, bytes_, kLeastPiece});
    if (!AddPiece(wanted).ok()) FGNN_RETURN_IF_ERROR(AddPiece(rounded));
  }
  std::byte* const memory = pieces_.back().get() + taken_;
  taken_ += rounded;
  return memory;
}

}  // namespace fgnn
