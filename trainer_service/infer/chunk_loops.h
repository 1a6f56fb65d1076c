// Loops over chunks of vertices, on the threads of one process or of several.
// Private to this folder.
#ifndef FGNN_TRAINER_SERVICE_INFER_CHUNK_LOOPS_H_
#define FGNN_TRAINER_SERVICE_INFER_CHUNK_LOOPS_H_

#include <cstddef>
#include <cstdint>
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
  absl::Status WaitForOthers(uint32_t loop, int64_t num_chunks);
  absl::Status RunSharedChunk(uint32_t loop, int64_t num_chunks, Task task,
                              int worker);

  const InferenceInput& input_;
  uint32_t num_loops_ = 0;  // Number of loops begun so far.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_CHUNK_LOOPS_H_
