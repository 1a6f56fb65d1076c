#include "trainer_service/infer/chunk_loops.h"

#include <optional>
#include <stdexcept>

#include "shared/base/status.h"
#include "shared/base/threads/first_error.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/infer/shared_inference.h"

namespace fgnn {
namespace {

// Turns what a user's layer throws into a Status: it is no failure of ours.
absl::Status WithoutThrowing(ChunkLoops::Task task, int64_t chunk, int worker) {
  try {
    return task(chunk, worker);
  } catch (const std::runtime_error& thrown) {
    return absl::InvalidArgumentError(thrown.what());
  }
}

}  // namespace

absl::Status ChunkLoops::Run(int64_t num_chunks, Task task) {
  const uint32_t loop = num_loops_++;
  FirstError stopped;
  FGNN_RETURN_IF_ERROR(
      input_.team->Run(num_chunks, [&](int64_t chunk, int worker) {
        if (input_.check && !stopped.any()) stopped.Note(input_.check());
        if (stopped.any()) return;
        stopped.Note(input_.shared == nullptr
                         ? WithoutThrowing(task, chunk, worker)
                         : RunSharedChunk(loop, num_chunks, task, worker));
      }));
  FGNN_RETURN_IF_ERROR(stopped.status());
  if (input_.shared == nullptr) return absl::OkStatus();
  return input_.shared->WaitForLoop(loop, num_chunks, [this] {
    // Counted, as a process that waits for others hangs no more than they do.
    input_.team->CountTask();
    return input_.check ? input_.check() : absl::OkStatus();
  });
}

absl::Status ChunkLoops::RunSharedChunk(uint32_t loop, int64_t num_chunks,
                                        Task task, int worker) {
  const std::optional<int64_t> chunk =
      input_.shared->TakeChunk(loop, num_chunks);
  if (!chunk.has_value()) return absl::OkStatus();
  FGNN_RETURN_IF_ERROR(WithoutThrowing(task, *chunk, worker));
  input_.shared->ChunkDone(loop, num_chunks);
  return absl::OkStatus();
}

}  // namespace fgnn
