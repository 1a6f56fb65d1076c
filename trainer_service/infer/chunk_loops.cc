#include "trainer_service/infer/chunk_loops.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/threads/first_error.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/infer/inference_arrays.h"
#include "trainer_service/infer/shared_inference.h"

namespace fgnn {
namespace {

constexpr int64_t kRangesOfALoop = 8;
// Two products with a matrix of 256 by 256 take about as long as sums of so
// many rows of 256.
constexpr uint64_t kEdgesOfAVertex = 32;
// 32,768 vertices.
constexpr int64_t kMostChunksOfARange = 64;

// Turns what a user's layer throws into a Status: it is no failure of ours.
absl::Status WithoutThrowing(ChunkLoops::Task task, int64_t chunk, int worker) {
  try {
    return task(chunk, worker);
  } catch (const std::runtime_error& thrown) {
    return absl::InvalidArgumentError(thrown.what());
  }
}

std::vector<GlobalId> MarkedNodes(absl::Span<const uint8_t> marks) {
  std::vector<GlobalId> nodes;
  for (size_t v = 0; v < marks.size(); ++v) {
    if (marks[v] != 0) nodes.push_back(static_cast<GlobalId>(v));
  }
  return nodes;
}

}  // namespace

absl::StatusOr<std::vector<size_t>> CutIntoChunks(
    const CscView& graph, absl::Span<const GlobalId> nodes) {
  std::vector<size_t> starts = {0};
  uint64_t edges = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    FGNN_ASSIGN_OR_RETURN(const EdgeList list, ReadEdgeList(graph, nodes[i]));
    const uint64_t degree = list.degree;
    if (degree > std::numeric_limits<uint32_t>::max()) {
      return absl::UnimplementedError(
          absl::StrCat("vertex ", nodes[i], " has ", degree,
                       " neighbours; more than 4294967295 are not supported"));
    }
    if (i > starts.back() && (i - starts.back() == kRowsPerChunk ||
                              edges + degree > kEdgesPerChunk)) {
      starts.push_back(i);
      edges = 0;
    }
    edges += degree;
  }
  if (!nodes.empty()) starts.push_back(nodes.size());
  return starts;
}

absl::StatusOr<std::vector<uint64_t>> WorkBefore(
    const CscView& graph, absl::Span<const GlobalId> nodes,
    absl::Span<const size_t> starts) {
  std::vector<uint64_t> before = {0};
  for (size_t chunk = 0; chunk + 1 < starts.size(); ++chunk) {
    uint64_t work = before.back();
    for (size_t i = starts[chunk]; i < starts[chunk + 1]; ++i) {
      FGNN_ASSIGN_OR_RETURN(const EdgeList list, ReadEdgeList(graph, nodes[i]));
      work += list.degree + kEdgesOfAVertex;
    }
    before.push_back(work);
  }
  return before;
}

uint32_t ChunkLoops::BeginLoop() {
  work_before_ += work_of_loop_;
  work_of_loop_ = std::exchange(work_of_next_, 0);
  chunks_done_ = 0;
  return num_loops_++;
}

// Threads may note out of order, so that the number may fall by a chunk until
// the loop ends.
void ChunkLoops::Note(int64_t chunks_done, int64_t num_chunks) {
  if (input_.permille == nullptr || work_ == 0 || num_chunks == 0) return;
  const double done =
      static_cast<double>(work_before_) + static_cast<double>(work_of_loop_) *
                                              static_cast<double>(chunks_done) /
                                              static_cast<double>(num_chunks);
  *input_.permille = static_cast<uint32_t>(input_.last_permille * done /
                                           static_cast<double>(work_));
}

absl::Status ChunkLoops::Run(int64_t num_chunks, Task task) {
  const uint32_t loop = BeginLoop();
  FirstError stopped;
  FGNN_RETURN_IF_ERROR(
      input_.team->Run(num_chunks, [&](int64_t chunk, int worker) {
        if (input_.check && !stopped.any()) stopped.Note(input_.check());
        if (stopped.any()) return;
        if (input_.shared != nullptr) {
          stopped.Note(RunSharedChunk(loop, num_chunks, task, worker));
          return;
        }
        stopped.Note(WithoutThrowing(task, chunk, worker));
        Note(++chunks_done_, num_chunks);
      }));
  FGNN_RETURN_IF_ERROR(stopped.status());
  return EndLoop(loop, num_chunks);
}

absl::Status ChunkLoops::RunRanges(int64_t num_chunks, RangeTask task) {
  const uint32_t loop = BeginLoop();
  // Several for each process, so that they end at about the same time.
  const int64_t most =
      std::clamp(num_chunks / kRangesOfALoop, int64_t{1}, kMostChunksOfARange);
  ChunkRange range;
  while (true) {
    if (input_.shared != nullptr) {
      const auto taken = TakeChunks(loop, num_chunks, most);
      if (!taken.has_value()) break;
      range = *taken;
    } else {
      range = {range.last, std::min(num_chunks, range.last + most)};
      if (range.first == range.last) break;
    }
    if (input_.check) FGNN_RETURN_IF_ERROR(input_.check());
    input_.team->CountTask();
    FGNN_RETURN_IF_ERROR(task(range.first, range.last));
    if (input_.shared == nullptr) {
      Note(range.last, num_chunks);
    } else {
      ChunksDone(loop, num_chunks, range);
    }
  }
  return EndLoop(loop, num_chunks);
}

absl::Status ChunkLoops::EndLoop(uint32_t loop, int64_t num_chunks) {
  if (input_.shared != nullptr) {
    const auto check = [this] {
      // Counted, as a process that waits for others hangs no more than they do.
      input_.team->CountTask();
      return input_.check ? input_.check() : absl::OkStatus();
    };
    FGNN_RETURN_IF_ERROR(
        of_hosts_.has_value()
            ? input_.shared->chunks()->WaitForAll(*of_hosts_, check)
            : input_.shared->WaitForLoop(loop, num_chunks, check));
  }
  of_hosts_.reset();
  Note(num_chunks, num_chunks);
  return absl::OkStatus();
}

absl::Status ChunkLoops::RunSharedChunk(uint32_t loop, int64_t num_chunks,
                                        Task task, int worker) {
  const std::optional<ChunkRange> chunk = TakeChunks(loop, num_chunks, 1);
  if (!chunk.has_value()) return absl::OkStatus();
  FGNN_RETURN_IF_ERROR(WithoutThrowing(task, chunk->first, worker));
  ChunksDone(loop, num_chunks, *chunk);
  return absl::OkStatus();
}

std::optional<ChunkRange> ChunkLoops::TakeChunks(uint32_t loop,
                                                 int64_t num_chunks,
                                                 int64_t most) {
  if (!of_hosts_.has_value()) {
    return input_.shared->TakeChunks(loop, num_chunks, most);
  }
  const std::optional<ChunkBoard::Taken> taken =
      input_.shared->chunks()->TakeOwn(*of_hosts_, static_cast<uint32_t>(most));
  if (!taken.has_value()) return std::nullopt;
  return ChunkRange{taken->first, taken->end};
}

void ChunkLoops::ChunksDone(uint32_t loop, int64_t num_chunks,
                            const ChunkRange& chunks) {
  if (!of_hosts_.has_value()) {
    Note(
        input_.shared->ChunksDone(loop, num_chunks, chunks.last - chunks.first),
        num_chunks);
    return;
  }
  ChunkBoard& board = *input_.shared->chunks();
  board.NoteHere(*of_hosts_, static_cast<uint32_t>(chunks.first),
                 static_cast<uint32_t>(chunks.last));
  Note(board.NumHere(*of_hosts_), num_chunks);
}

absl::StatusOr<std::vector<GlobalId>> SourcesOf(
    const CscView& graph, absl::Span<const GlobalId> destinations,
    uint8_t* marks, ChunkLoops* loops) {
  // Several threads may mark a vertex: they write the same value.
  const auto mark = [marks](GlobalId v) {
    std::atomic_ref<uint8_t>(marks[v]).store(1, std::memory_order_relaxed);
  };
  FGNN_ASSIGN_OR_RETURN(const std::vector<size_t> starts,
                        CutIntoChunks(graph, destinations));
  FGNN_RETURN_IF_ERROR(
      loops->Run(static_cast<int64_t>(starts.size()) - 1,
                 [&](int64_t chunk, int /*worker*/) {
                   for (size_t i = starts[static_cast<size_t>(chunk)];
                        i < starts[static_cast<size_t>(chunk) + 1]; ++i) {
                     mark(destinations[i]);
                     const absl::Status visited =
                         ForEachNeighbor(graph, destinations[i], mark);
                     if (!visited.ok()) return visited;
                   }
                   return absl::OkStatus();
                 }));
  return MarkedNodes({marks, graph.num_nodes()});
}

}  // namespace fgnn
