#include "trainer_service/exchange/chunk_seat.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"

namespace fgnn {

void ChunkSeat::Put(std::shared_ptr<ServedChunks> chunks) {
  const MutexLock lock(&mutex_);
  if (chunks_ != nullptr) chunks_->is_closed = true;
  chunks_ = std::move(chunks);
}

void ChunkSeat::Remove(const std::shared_ptr<ServedChunks>& chunks) {
  chunks->is_closed = true;
  const MutexLock lock(&mutex_);
  if (chunks_ == chunks) chunks_.reset();
}

absl::StatusOr<std::shared_ptr<ServedChunks>> ChunkSeat::Find(
    const std::string& job_id, uint64_t attempt, uint64_t evaluation) {
  const MutexLock lock(&mutex_);
  if (chunks_ == nullptr || chunks_->job_id != job_id ||
      chunks_->attempt != attempt ||
      chunks_->board->division().evaluation != evaluation) {
    return absl::NotFoundError(absl::StrCat(
        "evaluation ", evaluation, " of job ", job_id, " is not on this host"));
  }
  return chunks_;
}

absl::Status SendChunks(
    const ServedChunks& chunks, ChunkPlace first,
    absl::FunctionRef<bool()> is_cancelled,
    absl::FunctionRef<absl::Status(ChunkPlace, absl::Span<const float>)> send) {
  ChunkBoard& board = *chunks.board;
  const uint32_t self = board.division().self;
  ChunkPlace next = first;
  while (true) {
    const uint32_t seen = board.changes();
    if (chunks.is_closed || is_cancelled()) {
      return absl::CancelledError("the evaluation leaves this host");
    }
    const uint32_t num_loops = board.num_loops();
    if (num_loops > 0 && next.loop >= num_loops) return absl::OkStatus();
    FGNN_ASSIGN_OR_RETURN(const LoopShape* const shape, board.Find(next.loop));
    if (shape != nullptr) {
      next.chunk = std::max(next.chunk, shape->first_of(self));
      if (next.chunk >= shape->end_of(self)) {
        next = {next.loop + 1, 0};
        continue;
      }
      if (board.IsHere(next.loop, next.chunk)) {
        FGNN_RETURN_IF_ERROR(send(next, board.Rows(next.loop, next.chunk)));
        ++next.chunk;
        continue;
      }
    }
    board.WaitForChange(seen, DeadlineIn(kTick));
  }
}

}  // namespace fgnn
