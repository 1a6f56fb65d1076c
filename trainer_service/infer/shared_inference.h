// One inference that several processes make together, in memory that they all
// map:
//
//   first page   for each loop, chunks taken and chunks done; a futex
//   behind it    arrays, as they were reserved
//
// Where hosts share the inference, each has such memory, and results of chunks
// lie there too (chunks/chunk_board.h).
//
// All processes run the same loops over the same chunks; each computes the
// chunks that it takes. A loop has ended once all of its chunks are done. All
// processes then see what was written in it, so any of them may have computed a
// chunk.
//
// A process that dies or gives up while it has a chunk leaves the loop
// unfinished for ever. The caller who asked for the inference ends the other
// processes (their `check`) and starts it anew in other memory.
#ifndef FGNN_TRAINER_SERVICE_INFER_SHARED_INFERENCE_H_
#define FGNN_TRAINER_SERVICE_INFER_SHARED_INFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"
#include "trainer_service/chunks/chunk_board.h"
#include "trainer_service/compute/scratch.h"

namespace fgnn {

// Chunks [first, last) of a loop.
struct ChunkRange {
  int64_t first = 0;
  int64_t last = 0;
};

// TakeChunks() and ChunksDone(): any thread. The other methods: one thread.
class SharedInference {
 public:
  // `memory` is a memfd that can only grow; it is empty, or as another process
  // of the same inference left it. InvalidArgument: it could shrink.
  static absl::StatusOr<std::unique_ptr<SharedInference>> Open(UniqueFd memory);
  ~SharedInference();
  SharedInference(const SharedInference&) = delete;
  SharedInference& operator=(const SharedInference&) = delete;

  // Returns an array at a page's boundary, zero until a process writes to it.
  // All processes reserve the same sizes in the same order. Pages are taken
  // when they are touched. The array is valid until this object is destroyed.
  absl::StatusOr<absl::Span<std::byte>> Reserve(uint64_t bytes);
  // Returns the bytes of all arrays so far, with those of the first page.
  uint64_t reserved_bytes() const { return reserved_bytes_; }
  // Returns the bytes by which Reserve() would enlarge the memory: 0 if another
  // process has reserved them before.
  uint64_t Growth(uint64_t bytes) const;

  // Returns the results of an inference that hosts share; nullptr: one host
  // makes it.
  ChunkBoard* chunks() const { return chunks_.get(); }
  // Reserves the memory of a loop's results, and publishes them on chunks().
  absl::Status ReserveResults(uint32_t loop, uint32_t num_loops,
                              const LoopShape& shape);

  // Takes up to `most` chunks of [0, num_chunks) that no process has taken;
  // nullopt: none are left. Loops are numbered from 0, in [0, kMostLoops).
  static constexpr uint32_t kMostLoops = 60;
  std::optional<ChunkRange> TakeChunks(uint32_t loop, int64_t num_chunks,
                                       int64_t most);
  // Notes that this process has done so many more chunks. Returns how many of
  // the loop are done by now.
  int64_t ChunksDone(uint32_t loop, int64_t num_chunks, int64_t done);
  // Returns once all chunks are done. Calls `check` at least ten times a
  // second; its error ends the wait.
  absl::Status WaitForLoop(uint32_t loop, int64_t num_chunks,
                           const std::function<absl::Status()>& check);

 private:
  struct Header;

  explicit SharedInference(UniqueFd memory) : memory_(std::move(memory)) {}
  uint64_t FileBytes() const;

  const UniqueFd memory_;
  std::vector<absl::Span<std::byte>> mapped_;
  uint64_t reserved_bytes_ = 0;
  Header* header_ = nullptr;
  std::unique_ptr<ChunkBoard> chunks_;
};

// Returns memory of `count` elements, reserved in `shared`, or in `own` if
// `shared` is null. Errors: those of Reserve().
template <typename T>
absl::StatusOr<T*> ReserveArray(SharedInference* shared, uint64_t count,
                                Scratch<T>& own) {
  if (shared == nullptr) return own.Reserve(count);
  FGNN_ASSIGN_OR_RETURN(const absl::Span<std::byte> bytes,
                        shared->Reserve(count * sizeof(T)));
  return reinterpret_cast<T*>(bytes.data());
}

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_SHARED_INFERENCE_H_
