#include "trainer_service/exchange/chunk_trade.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/crc32c.h"
#include "shared/base/status.h"
#include "shared/base/threads/first_error.h"
#include "shared/base/threads/notification.h"
#include "shared/base/threads/thread.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// Writes the chunks of one other host to this host's board, one after the
// other.
class ChunkWriter {
 public:
  ChunkWriter(ChunkBoard* board, uint32_t host, ChunkTotals* totals,
              const std::function<bool()>* is_stopped)
      : board_(*board),
        host_(host),
        totals_(*totals),
        is_stopped_(*is_stopped) {}

  // Finds the first chunk that lacks. Returns false if none does. Waits until
  // its loop is published.
  absl::StatusOr<bool> FindNext() {
    written_ = 0;
    while (true) {
      const uint32_t seen = board_.changes();
      if (is_stopped_()) return absl::CancelledError("the evaluation is over");
      const uint32_t num_loops = board_.num_loops();
      if (num_loops > 0 && next_.loop >= num_loops) return false;
      FGNN_ASSIGN_OR_RETURN(shape_, board_.Find(next_.loop));
      if (shape_ == nullptr) {
        board_.WaitForChange(seen, DeadlineIn(kTick));
        continue;
      }
      next_.chunk = std::max(next_.chunk, shape_->first_of(host_));
      while (next_.chunk < shape_->end_of(host_) &&
             board_.IsHere(next_.loop, next_.chunk)) {
        ++next_.chunk;
      }
      if (next_.chunk < shape_->end_of(host_)) return true;
      next_ = {next_.loop + 1, 0};
    }
  }
  const ChunkPlace& next() const { return next_; }
  absl::Status EndedBeforeNext() const {
    return absl::DataLossError(absl::StrCat(
        "a host has sent its last chunk of an evaluation, but this "
        "host needs chunk ",
        next_.chunk, " of loop ", next_.loop));
  }

  absl::Status Write(const ChunkPiece& piece) {
    if (is_stopped_()) return absl::CancelledError("the evaluation is over");
    if (is_whole_) {
      is_whole_ = false;
      FGNN_ASSIGN_OR_RETURN(const bool lacks, FindNext());
      if (!lacks) return OtherChunks(piece);
    }
    if (piece.place != next_) return OtherChunks(piece);
    const absl::Span<float> rows = board_.Rows(next_.loop, next_.chunk);
    if (piece.floats.size() > rows.size() - written_) return OtherChunks(piece);
    std::copy(piece.floats.begin(), piece.floats.end(),
              rows.begin() + static_cast<std::ptrdiff_t>(written_));
    written_ += piece.floats.size();
    if (!piece.crc.has_value()) return absl::OkStatus();
    if (written_ != rows.size()) return OtherChunks(piece);
    if (ExtendCrc32c(0, rows.data(), rows.size() * sizeof(float)) !=
        *piece.crc) {
      return absl::UnavailableError("a chunk came damaged");
    }
    board_.NoteHere(next_.loop, next_.chunk, next_.chunk + 1);
    ++totals_.chunks;
    totals_.bytes += rows.size() * sizeof(float);
    is_whole_ = true;
    return absl::OkStatus();
  }

 private:
  absl::Status OtherChunks(const ChunkPiece& piece) const {
    return absl::DataLossError(absl::StrCat(
        "a host sends chunk ", piece.place.chunk, " of loop ", piece.place.loop,
        " of an evaluation where this host needs chunk ", next_.chunk,
        " of loop ", next_.loop));
  }

  ChunkBoard& board_;
  const uint32_t host_;
  ChunkTotals& totals_;
  const std::function<bool()>& is_stopped_;
  ChunkPlace next_;
  const LoopShape* shape_ = nullptr;  // Shape of that loop.
  size_t written_ = 0;                // Floats of the chunk that are written.
  bool is_whole_ = false;             // Whether that chunk is here.
};

}  // namespace

absl::Status FollowChunks(ChunkBoard* board, ChunkLinks* links, uint32_t host,
                          ChunkTotals* totals,
                          const std::function<bool()>& is_stopped) {
  ChunkWriter writer(board, host, totals, &is_stopped);
  bool has_ended = false;  // Whether the other host has sent its last chunk.
  while (true) {
    FGNN_ASSIGN_OR_RETURN(const bool lacks, writer.FindNext());
    if (!lacks) return absl::OkStatus();
    if (has_ended) return writer.EndedBeforeNext();
    const absl::Status copied = links->CopyChunks(
        host, board->division().evaluation, writer.next(),
        [&writer](const ChunkPiece& piece) { return writer.Write(piece); },
        is_stopped);
    has_ended = copied.ok();
    if (has_ended) continue;
    if (!absl::IsUnavailable(copied)) return copied;
    board->WaitForChange(board->changes(), DeadlineIn(kTick));
  }
}

absl::Status TradeChunks(const std::shared_ptr<ServedChunks>& chunks,
                         ChunkSeat* seat, ChunkLinks* links,
                         ChunkTotals* totals,
                         const std::function<absl::Status()>& check) {
  seat->Put(chunks);
  const uint64_t chunks_before = totals->chunks;
  const uint64_t bytes_before = totals->bytes;
  std::atomic<bool> is_over = false;
  FirstError failed;
  Notification has_failed;
  const std::function<bool()> is_stopped = [&is_over] {
    return is_over.load();
  };
  std::vector<Thread> threads;  // They borrow all of the above.
  const absl::Cleanup end = [&] {
    is_over = true;
    seat->Remove(chunks);
  };
  ChunkBoard* const board = chunks->board.get();
  for (uint32_t host = 0; host < board->division().num_hosts; ++host) {
    if (host == board->division().self) continue;
    FGNN_ASSIGN_OR_RETURN(
        threads.emplace_back(), Thread::Start("fgnn-chunks", [&, host] {
          const absl::Status followed =
              FollowChunks(board, links, host, totals, is_stopped);
          if (followed.ok() || is_over) return;
          failed.Note(followed);
          has_failed.Notify();
        }));
  }
  absl::Status checked;
  while (checked.ok() && !has_failed.WaitUntil(DeadlineIn(kTick))) {
    checked = check();
  }
  is_over = true;
  threads.clear();
  LogInfo("job {}: {} chunks of an evaluation came from other hosts, {} bytes",
          chunks->job_id, totals->chunks - chunks_before,
          totals->bytes - bytes_before);
  return checked.ok() ? failed.status() : checked;
}

}  // namespace fgnn
