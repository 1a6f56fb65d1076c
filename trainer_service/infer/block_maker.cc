#include "trainer_service/infer/block_maker.h"

#include <algorithm>
#include <atomic>

#include "shared/base/status.h"
#include "shared/base/threads/first_error.h"
#include "shared/graph/array_places.h"
#include "trainer_service/infer/inference_arrays.h"

namespace fgnn {
namespace {

// Places of vertices that are no source yet, and that a thread has found.
constexpr uint32_t kNoPlace = UINT32_MAX;
constexpr uint32_t kFound = UINT32_MAX - 1;

// Few, as one vertex may have most of the edges.
constexpr size_t kNodesPerPart = 64;

}  // namespace

BlockMaker::BlockMaker(const CscView* graph, ThreadTeam* team)
    : graph_(*graph),
      team_(*team),
      places_(graph->num_nodes(), kNoPlace),
      found_(static_cast<size_t>(team->size())) {}

absl::Status BlockMaker::ForParts(
    size_t count, absl::FunctionRef<void(size_t, size_t, int)> visit) const {
  return team_.Run(
      NumTasks(static_cast<int64_t>(count), kNodesPerPart),
      [&](int64_t part, int worker) {
        const size_t first = static_cast<size_t>(part) * kNodesPerPart;
        visit(first, std::min(count, first + kNodesPerPart), worker);
      });
}

absl::Status BlockMaker::Make(absl::Span<const GlobalId> nodes,
                              const float* degree_scales) {
  for (const GlobalId v : sources_) places_[v] = kNoPlace;
  FGNN_RETURN_IF_ERROR(FindSources(nodes));
  FGNN_RETURN_IF_ERROR(FillLists(nodes));
  scales_.clear();
  if (degree_scales != nullptr) {
    scales_.reserve(sources_.size());
    for (const GlobalId v : sources_) scales_.push_back(degree_scales[v]);
  }
  block_ = {.num_sources = static_cast<uint32_t>(sources_.size()),
            .indptr = lists_.indptr,
            .indices = indices_,
            .degree_scales = scales_};
  return absl::OkStatus();
}

absl::Status BlockMaker::FindSources(absl::Span<const GlobalId> nodes) {
  sources_.assign(nodes.begin(), nodes.end());
  for (size_t i = 0; i < nodes.size(); ++i) {
    places_[nodes[i]] = static_cast<uint32_t>(i);
  }
  for (std::vector<GlobalId>& found : found_) found.clear();
  FirstError changed;
  absl::Status searched = ForParts(nodes.size(), [&](size_t first, size_t last,
                                                     int worker) {
    std::vector<GlobalId>& found = found_[static_cast<size_t>(worker)];
    const auto look_at = [&](GlobalId u) {
      const std::atomic_ref<uint32_t> place(places_[u]);
      uint32_t seen = place.load(std::memory_order_relaxed);
      if (seen == kNoPlace && place.compare_exchange_strong(
                                  seen, kFound, std::memory_order_relaxed)) {
        found.push_back(u);
      }
    };
    for (size_t i = first; i < last; ++i) {
      changed.Note(ForEachNeighbor(graph_, nodes[i], look_at));
      if (changed.any()) return;
    }
  });
  if (searched.ok()) searched = changed.status();
  // By their addresses, in which devices and cores find rows faster.
  const absl::Status sorted =
      team_.Run(static_cast<int64_t>(found_.size()), [&](int64_t of, int) {
        std::sort(found_[static_cast<size_t>(of)].begin(),
                  found_[static_cast<size_t>(of)].end());
      });
  // Also after an error, so that the next call clears all places.
  for (const std::vector<GlobalId>& found : found_) {
    for (const GlobalId u : found) {
      places_[u] = static_cast<uint32_t>(sources_.size());
      sources_.push_back(u);
    }
  }
  return searched.ok() ? sorted : searched;
}

absl::Status BlockMaker::FillLists(absl::Span<const GlobalId> nodes) {
  FGNN_RETURN_IF_ERROR(ReadLists(graph_, nodes, kNoPlace, &lists_));
  indices_.resize(lists_.indptr.back());
  FirstError changed;
  FGNN_RETURN_IF_ERROR(
      ForParts(nodes.size(), [&](size_t first, size_t last, int) {
        uint32_t* next = indices_.data() + lists_.indptr[first];
        bool is_new = false;
        for (size_t i = first; i < last && !changed.any(); ++i) {
          changed.Note(ForEachSource(graph_, lists_.lists[i], [&](GlobalId u) {
            is_new |= places_[u] >= sources_.size();
            *next++ = places_[u];
          }));
        }
        if (is_new) {
          changed.Note(ChangedDataset(
              "indices.npy has a source that it had not a moment before"));
        }
      }));
  return changed.status();
}

}  // namespace fgnn
