// How a host gets the results of an evaluation that other hosts compute.
#ifndef FGNN_TRAINER_SERVICE_EXCHANGE_CHUNK_TRADE_H_
#define FGNN_TRAINER_SERVICE_EXCHANGE_CHUNK_TRADE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "trainer_service/exchange/chunk_links.h"
#include "trainer_service/exchange/chunk_seat.h"

namespace fgnn {

// What an exchange has got for all its evaluations.
struct ChunkTotals {
  std::atomic<uint64_t> chunks = 0;  // Chunks that came from other hosts.
  std::atomic<uint64_t> bytes = 0;   // Bytes of their rows.
};

// Gets all chunks of another host that this host lacks. Returns OK once all are
// here. Cancelled: `is_stopped`, which is asked about ten times a second,
// returned true. Breaks of the link, and chunks that came damaged, end nothing:
// they are asked for again. DataLoss: the other host cut the evaluation into
// other chunks.
absl::Status FollowChunks(ChunkBoard* board, ChunkLinks* links, uint32_t host,
                          ChunkTotals* totals,
                          const std::function<bool()>& is_stopped);

// Serves the evaluation in `seat`, and follows each other host on a thread of
// its own. Goes on until an error of `check`, which is asked about ten times a
// second, or of FollowChunks(), and returns it.
absl::Status TradeChunks(const std::shared_ptr<ServedChunks>& chunks,
                         ChunkSeat* seat, ChunkLinks* links,
                         ChunkTotals* totals,
                         const std::function<absl::Status()>& check);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_EXCHANGE_CHUNK_TRADE_H_
