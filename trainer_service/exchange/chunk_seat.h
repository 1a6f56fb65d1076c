// The results of an evaluation that this host serves to the other hosts of a
// job.
#ifndef FGNN_TRAINER_SERVICE_EXCHANGE_CHUNK_SEAT_H_
#define FGNN_TRAINER_SERVICE_EXCHANGE_CHUNK_SEAT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/threads/mutex.h"
#include "trainer_service/chunks/chunk_board.h"
#include "trainer_service/exchange/chunk_links.h"

namespace fgnn {

// The results of one evaluation.
struct ServedChunks {
  ServedChunks(std::string job, uint64_t run,
               std::unique_ptr<ChunkBoard> results)
      : job_id(std::move(job)), attempt(run), board(std::move(results)) {}

  const std::string job_id;
  const uint64_t attempt;  // See JobHosts.
  const std::unique_ptr<ChunkBoard> board;
  std::atomic<bool> is_closed = false;  // Whether calls are to end.
};

// Has the results of one evaluation at a time. Calls of other hosts share them,
// so that their memory stays until the last one has ended. Thread-safe.
class ChunkSeat {
 public:
  // Puts results into the seat, and closes those that were there.
  void Put(std::shared_ptr<ServedChunks> chunks);
  // Closes these results, and takes them from the seat.
  void Remove(const std::shared_ptr<ServedChunks>& chunks);
  // NotFound: they are not here.
  absl::StatusOr<std::shared_ptr<ServedChunks>> Find(const std::string& job_id,
                                                     uint64_t attempt,
                                                     uint64_t evaluation);

 private:
  Mutex mutex_;
  std::shared_ptr<ServedChunks> chunks_ ABSL_GUARDED_BY(mutex_);
};

// Calls `send` with each chunk of this host from `first` on, once it is here:
// loop after loop, and chunk after chunk. Errors: those of `send`. Cancelled:
// the results were closed, or `is_cancelled` returned true; it is asked about
// ten times a second. InvalidArgument: there is no such loop.
absl::Status SendChunks(
    const ServedChunks& chunks, ChunkPlace first,
    absl::FunctionRef<bool()> is_cancelled,
    absl::FunctionRef<absl::Status(ChunkPlace, absl::Span<const float>)> send);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_EXCHANGE_CHUNK_SEAT_H_
