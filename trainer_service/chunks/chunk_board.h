// The results of one evaluation that several hosts make together, as one host
// has them: in the memory that its trainers share.
//
//   first page    the division (shared/executors/chunk_division.h)
//   second page   for each loop, where its results lie, and how many are here
//   behind it     among the trainers' arrays, the results of each loop
//
// A loop computes rows, chunk by chunk. Each chunk belongs to one host. Its
// trainers compute it and write its rows. The exchange of each other host asks
// for them, and writes them there. Rows are written once.
#ifndef FGNN_TRAINER_SERVICE_CHUNKS_CHUNK_BOARD_H_
#define FGNN_TRAINER_SERVICE_CHUNKS_CHUNK_BOARD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/clock.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/threads/mutex.h"
#include "shared/executors/chunk_division.h"

namespace fgnn {

// What a loop's results look like, equal on all hosts.
struct LoopShape {
  std::vector<uint64_t> starts;  // [chunks + 1] first row of each chunk.
  std::vector<uint32_t> ends;    // [hosts] end of each host's chunks.
  uint32_t columns = 1;

  uint32_t num_chunks() const {
    return static_cast<uint32_t>(starts.size() - 1);
  }
  uint32_t first_of(uint32_t host) const {
    return host == 0 ? 0 : ends[host - 1];
  }
  uint32_t end_of(uint32_t host) const { return ends[host]; }

  friend bool operator==(const LoopShape&, const LoopShape&) = default;
};

// Returns the bytes that a loop's results take, with what describes them.
uint64_t LoopBytes(const LoopShape& shape);

// Thread-safe. Rows are borrowed until destruction.
class ChunkBoard {
 public:
  static constexpr uint32_t kMostLoops = 40;
  static constexpr uint64_t kPageBytes = 4096;

  // `memory` is a memfd that can only grow, as WriteChunkDivision() or another
  // process of the evaluation left it. InvalidArgument: it could shrink, or is
  // of one host.
  static absl::StatusOr<std::unique_ptr<ChunkBoard>> Open(UniqueFd memory);
  ~ChunkBoard();
  ChunkBoard(const ChunkBoard&) = delete;
  ChunkBoard& operator=(const ChunkBoard&) = delete;

  const ChunkDivision& division() const { return division_; }

  // ---- For trainers.

  // Says where the loop's results lie: LoopBytes() from `offset`, a multiple of
  // the page's size. All trainers of the host publish the same. `num_loops`:
  // number of all loops.
  absl::Status Publish(uint32_t loop, uint32_t num_loops,
                       const LoopShape& shape, uint64_t offset);
  // Takes up to `most` chunks of this host that nobody has taken; nullopt: none
  // are left. The loop is published.
  struct Taken {
    uint32_t first = 0;
    uint32_t end = 0;
  };
  std::optional<Taken> TakeOwn(uint32_t loop, uint32_t most);
  // Returns once all chunks of the loop are here. Calls `check` at least ten
  // times a second; its error ends the wait.
  absl::Status WaitForAll(uint32_t loop,
                          const std::function<absl::Status()>& check);

  // ---- For trainers and exchanges.

  // Number of all loops; 0: not known yet.
  uint32_t num_loops() const;
  // Returns the shape of a loop; nullptr: it is not published yet. Unavailable:
  // its results do not fit into the memory.
  absl::StatusOr<const LoopShape*> Find(uint32_t loop);
  // Returns memory of the rows of a published loop's chunk.
  absl::Span<float> Rows(uint32_t loop, uint32_t chunk);
  // Returns memory of all rows of a published loop.
  float* AllRows(uint32_t loop);
  bool IsHere(uint32_t loop, uint32_t chunk);
  // Notes that the rows of chunks [first, end) are here, if they were not.
  void NoteHere(uint32_t loop, uint32_t first, uint32_t end);
  // Returns about how many chunks of the loop are here.
  uint32_t NumHere(uint32_t loop);

  // Returns a number that changes when chunks come or a loop is published.
  uint32_t changes() const;
  // Waits until it is not `seen`, or the deadline; a tick at most.
  void WaitForChange(uint32_t seen, Deadline deadline) const;

 private:
  struct Page;
  struct Mapped;

  explicit ChunkBoard(UniqueFd memory);
  // Returns the loop, which is published and was found.
  const Mapped& MappedOf(uint32_t loop);
  absl::StatusOr<std::unique_ptr<Mapped>> Map(uint32_t loop) const;

  const UniqueFd memory_;
  ChunkDivision division_;
  Page* page_ = nullptr;
  Mutex mutex_;
  std::map<uint32_t, std::unique_ptr<Mapped>> mapped_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_CHUNKS_CHUNK_BOARD_H_
