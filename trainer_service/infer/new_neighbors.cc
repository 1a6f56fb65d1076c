#include "trainer_service/infer/new_neighbors.h"

#include <algorithm>
#include <cstddef>
#include <new>

#include "shared/base/status.h"
#include "shared/base/threads/first_error.h"
#include "trainer_service/infer/embedding_rows.h"
#include "trainer_service/infer/known_neighbors.h"
#include "trainer_service/infer/predict.h"

namespace fgnn {
namespace {

// Vertices whose neighbours are searched together, and the others that they are
// scored with: by one task, and while they stay in a core's cache.
constexpr size_t kVerticesPerBlock = 64;
constexpr size_t kOthersPerTask = 4096;
constexpr size_t kOthersPerTile = 64;

struct Candidate {
  float score = 0;
  GlobalId vertex = 0;
};

// A total order, so that the best ones do not depend on the search's order.
bool IsBetter(const Candidate& a, const Candidate& b) {
  return a.score != b.score ? a.score > b.score : a.vertex < b.vertex;
}

// The best candidates so far, the worst of them in front.
using Heap = std::vector<Candidate>;

class Search {
 public:
  Search(const InferenceInput& input, const EmbeddingRows& rows,
         const KnownNeighbors& known, uint32_t num_best)
      : input_(input),
        rows_(rows),
        known_(known),
        num_best_(num_best),
        heaps_(static_cast<size_t>(input.team->size()) * kVerticesPerBlock) {}

  // Appends the neighbours of `block`, kVerticesPerBlock vertices at most.
  absl::Status Append(absl::Span<const GlobalId> block, NewNeighbors* found) {
    joined_.clear();
    for (const GlobalId v : block) {
      FGNN_ASSIGN_OR_RETURN(joined_.emplace_back(), known_.Of(v));
    }
    for (Heap& heap : heaps_) heap.clear();
    const size_t num_others = input_.graph->num_nodes();
    FirstError stopped;
    FGNN_RETURN_IF_ERROR(input_.team->Run(
        NumTasks(static_cast<int64_t>(num_others), kOthersPerTask),
        [&](int64_t task, int worker) {
          if (input_.check && !stopped.any()) stopped.Note(input_.check());
          if (stopped.any()) return;
          const size_t first = static_cast<size_t>(task) * kOthersPerTask;
          ScoreOthers(block, first,
                      std::min(first + kOthersPerTask, num_others), worker);
        }));
    FGNN_RETURN_IF_ERROR(stopped.status());
    for (size_t i = 0; i < block.size(); ++i) AppendBest(i, found);
    return absl::OkStatus();
  }

 private:
  Heap& HeapOf(int worker, size_t i) {
    return heaps_[static_cast<size_t>(worker) * kVerticesPerBlock + i];
  }

  void ScoreOthers(absl::Span<const GlobalId> block, size_t first, size_t last,
                   int worker) {
    for (size_t tile = first; tile < last; tile += kOthersPerTile) {
      const size_t end = std::min(tile + kOthersPerTile, last);
      for (size_t i = 0; i < block.size(); ++i) {
        Heap& heap = HeapOf(worker, i);
        for (size_t other = tile; other < end; ++other) {
          Offer({rows_.Score(block[i], other), static_cast<GlobalId>(other)},
                joined_[i], heap);
        }
      }
    }
  }

  void Offer(const Candidate& candidate, const std::vector<GlobalId>& joined,
             Heap& heap) const {
    const bool full = heap.size() == num_best_;
    if (full && !IsBetter(candidate, heap.front())) return;
    if (std::binary_search(joined.begin(), joined.end(), candidate.vertex)) {
      return;
    }
    if (full) {
      std::pop_heap(heap.begin(), heap.end(), IsBetter);
      heap.pop_back();
    }
    heap.push_back(candidate);
    std::push_heap(heap.begin(), heap.end(), IsBetter);
  }

  // Appends the best of what all workers found for vertex i of the block.
  void AppendBest(size_t i, NewNeighbors* found) {
    Heap all;
    for (int worker = 0; worker < input_.team->size(); ++worker) {
      const Heap& heap = HeapOf(worker, i);
      all.insert(all.end(), heap.begin(), heap.end());
    }
    std::sort(all.begin(), all.end(), IsBetter);
    for (size_t k = 0; k < num_best_; ++k) {
      const bool there = k < all.size();
      found->vertices.push_back(there ? int64_t{all[k].vertex} : -1);
      found->scores.push_back(there ? all[k].score : 0);
    }
  }

  const InferenceInput& input_;
  const EmbeddingRows& rows_;
  const KnownNeighbors& known_;
  const size_t num_best_;
  std::vector<Heap> heaps_;                    // One per worker and vertex.
  std::vector<std::vector<GlobalId>> joined_;  // See KnownNeighbors::Of().
};

absl::StatusOr<NewNeighbors> SearchAll(const InferenceInput& input,
                                       absl::Span<const GlobalId> vertices,
                                       uint32_t num_best) {
  const uint64_t num_nodes = input.graph->num_nodes();
  const uint64_t result_bytes =
      vertices.size() * num_best * (sizeof(int64_t) + sizeof(float)) +
      static_cast<uint64_t>(input.team->size()) * kVerticesPerBlock * num_best *
          sizeof(Candidate);
  FGNN_ASSIGN_OR_RETURN(
      const EmbeddingRows rows,
      EmbeddingRows::Infer(input, AllVertices(num_nodes),
                           num_nodes * sizeof(uint32_t) + result_bytes));
  FGNN_ASSIGN_OR_RETURN(const KnownNeighbors known,
                        KnownNeighbors::Find(input.graph, vertices));
  NewNeighbors found;
  found.num_best = num_best;
  found.vertices.reserve(vertices.size() * num_best);
  found.scores.reserve(vertices.size() * num_best);
  Search search(input, rows, known, num_best);
  for (size_t first = 0; first < vertices.size(); first += kVerticesPerBlock) {
    FGNN_RETURN_IF_ERROR(
        search.Append(vertices.subspan(first, kVerticesPerBlock), &found));
  }
  return found;
}

}  // namespace

absl::StatusOr<NewNeighbors> FindNewNeighbors(
    const InferenceInput& input, absl::Span<const GlobalId> vertices,
    uint32_t num_best) {
  FGNN_RETURN_IF_ERROR(CheckNodes(vertices, input.graph->num_nodes()));
  try {
    return SearchAll(input, vertices, num_best);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        "out of memory for the scores of neighbours; choose fewer --vertices "
        "or a smaller --top-k");
  }
}

}  // namespace fgnn
