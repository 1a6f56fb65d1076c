// Loops over chunks of vertices, on the threads of one process or of several.
// Private to this folder.
#ifndef FGNN_TRAINER_SERVICE_INFER_CHUNK_LOOPS_H_
#define FGNN_TRAINER_SERVICE_INFER_CHUNK_LOOPS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"
#include "trainer_service/infer/layer_wise.h"

namespace fgnn {

// Returns the starts of chunks of vertices, and the end. Each chunk has few
// enough rows and edges. Unimplemented: a vertex has 2^32 neighbours or more.
// InvalidArgument, naming file and element: a list has changed.
absl::StatusOr<std::vector<size_t>> CutIntoChunks(
    const CscView& graph, absl::Span<const GlobalId> nodes);

// Returns the work of all chunks before each, [chunks + 1], in edges: a vertex
// costs as much as 32 of them. InvalidArgument, naming file and element: a list
// has changed.
absl::StatusOr<std::vector<uint64_t>> WorkBefore(
    const CscView& graph, absl::Span<const GlobalId> nodes,
    absl::Span<const size_t> starts);

// The loops of one inference. One caller.
class ChunkLoops {
 public:
  // Called with a chunk in [0, num_chunks) and the worker, in [0, team's size),
  // that runs it.
  using Task = absl::FunctionRef<absl::Status(int64_t chunk, int worker)>;

  // Called with chunks [first, last).
  using RangeTask =
      absl::FunctionRef<absl::Status(int64_t first, int64_t last)>;

  // Borrows `input`.
  explicit ChunkLoops(const InferenceInput* input) : input_(*input) {}

  // Says how much work the loops from now on are, in a unit of the caller's.
  void SetWork(uint64_t work) { work_ = work; }
  // Says how much of that the next loop does, for input.permille; without a
  // call, nothing.
  void NextDoes(uint64_t work) { work_of_next_ = work; }
  // Says that the results of the next loop are those of this loop of the hosts'
  // board: this host computes its own chunks, and the loop ends once the
  // results of all are here.
  void NextIsOfHosts(uint32_t loop) { of_hosts_ = loop; }
  // Runs the task for all chunks, until `input.check` returns an error. If
  // processes share the chunks, this one runs those that it takes. Returns when
  // all chunks are done. Errors: those of the check and of the task.
  // InvalidArgument: a user's layer threw.
  absl::Status Run(int64_t num_chunks, Task task);
  // Does the same with ranges of chunks, one after the other on this thread:
  // for a task that uses the team itself. The ranges of a process that is alone
  // depend on num_chunks alone.
  absl::Status RunRanges(int64_t num_chunks, RangeTask task);

 private:
  // Returns up to `most` chunks of the loop for this process; nullopt: none are
  // left.
  std::optional<ChunkRange> TakeChunks(uint32_t loop, int64_t num_chunks,
                                       int64_t most);
  // Notes that they are done.
  void ChunksDone(uint32_t loop, int64_t num_chunks, const ChunkRange& chunks);
  // Waits until the other processes have done their chunks.
  absl::Status EndLoop(uint32_t loop, int64_t num_chunks);
  absl::Status RunSharedChunk(uint32_t loop, int64_t num_chunks, Task task,
                              int worker);
  // Begins a loop, and returns its number.
  uint32_t BeginLoop();
  // Notes that so many chunks of the loop are done, by all processes.
  void Note(int64_t chunks_done, int64_t num_chunks);

  const InferenceInput& input_;
  uint32_t num_loops_ = 0;    // Number of loops begun so far.
  uint64_t work_ = 0;         // Work of all loops; 0: not known yet.
  uint64_t work_before_ = 0;  // Work of the loops that have ended.
  uint64_t work_of_loop_ = 0;
  uint64_t work_of_next_ = 0;
  std::atomic<int64_t> chunks_done_ = 0;  // Chunks that this process did of it.
  // Number of the current loop, or of the next one, on the hosts' board;
  // nullopt: it is a loop of this host.
  std::optional<uint32_t> of_hosts_;
};

// Returns the vertices whose input to a layer is needed for its `destinations`,
// rising. `marks`: a zero for each vertex of the graph. Errors: those of
// CutIntoChunks() and ChunkLoops::Run().
absl::StatusOr<std::vector<GlobalId>> SourcesOf(
    const CscView& graph, absl::Span<const GlobalId> destinations,
    uint8_t* marks, ChunkLoops* loops);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_CHUNK_LOOPS_H_
