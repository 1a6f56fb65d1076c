#include "sampler_service/sampling/cpu/uniform_hops.h"

#include <algorithm>
#include <array>
#include <new>

#include "absl/types/span.h"
#include "sampler_service/sampling/cpu/adjacency_lists.h"
#include "sampler_service/sampling/cpu/draws/draw_large.h"
#include "sampler_service/sampling/cpu/draws/edge_ring.h"
#include "sampler_service/sampling/cpu/new_hops.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

template <typename Index>
class UniformHops final : public HopSampler {
 public:
  UniformHops(const HopsOptions& options, absl::Span<const Index> indices)
      : options_(options),
        indices_(indices),
        lists_(options.input.graph, options.max_destinations),
        ring_(indices,
              kDrawLanes * std::min(options.max_fanout, kMaxLaneFanout)),
        large_draw_(options.max_fanout),
        group_(new (std::nothrow) Group) {}
  bool has_memory() const {
    return lists_.has_memory() && ring_.has_memory() && group_ != nullptr;
  }

  bool KeepsPlaces() const override { return true; }
  void StartBatch() override { lists_.StartBatch(); }
  absl::StatusOr<uint64_t> Sample(const HopRequest& request,
                                  MakeRoom make_room) override;
  uint64_t workspace_bytes() const override {
    return lists_.workspace_bytes() + ring_.workspace_bytes() + sizeof(Group) +
           large_draw_.workspace_bytes();
  }

 private:
  // Destinations of a group that lanes draw for.
  struct Group {
    LaneDraws draws;
    std::array<EdgeOffset, kDrawLanes> begins;
    // Places where the destinations' edges begin.
    std::array<uint32_t, kDrawLanes> outs;
    uint32_t num_lanes = 0;
  };

  void FillSmall(const HopRequest& request, const TaskWriter::HopArrays& hop);
  void FillLarge(const HopRequest& request, const TaskWriter::HopArrays& hop);
  void Sort(const HopRequest& request, uint64_t first, uint32_t* indptr);
  absl::Span<const uint64_t> DrawLarge(PhiloxKey key, GlobalId v,
                                       uint64_t degree, uint32_t fanout) {
    return options_.replace ? large_draw_.DrawAny(key, v, degree, fanout)
                            : large_draw_.Draw(key, v, degree, fanout);
  }

  HopsOptions options_;
  absl::Span<const Index> indices_;
  AdjacencyLists lists_;
  EdgeRing<Index> ring_;
  LargeDraw large_draw_;
  std::unique_ptr<Group> group_;
};

// Sorts the destinations of a group by how their edges are drawn. Nothing is
// drawn where all places are taken; others are drawn in lanes, or as large
// lists.
template <typename Index>
void UniformHops<Index>::Sort(const HopRequest& request, uint64_t first,
                              uint32_t* indptr) {
  progress_.Tick();
  const uint64_t last =
      std::min<uint64_t>(first + kDrawLanes, request.nodes.size());
  const auto fanout = static_cast<uint32_t>(request.fanout);
  const uint64_t most_taken_whole = options_.replace ? 0 : fanout;
  uint32_t num_lanes = 0;
  for (uint64_t i = first; i < last; ++i) {
    const AdjacencyList& list = lists_[i];
    const uint64_t destination = i - request.first;
    const uint32_t out = indptr[destination];
    if (list.degree <= most_taken_whole) {
      const auto degree = static_cast<uint32_t>(list.degree);
      for (uint32_t j = 0; j < degree; ++j) {
        ring_.Put(out + j, list.begin + EdgeOffset{j});
      }
      indptr[destination + 1] = out + degree;
    } else if (list.degree <= UINT32_MAX) {
      group_->draws.global_ids[num_lanes] = request.nodes[i];
      group_->draws.degrees[num_lanes] = static_cast<uint32_t>(list.degree);
      group_->begins[num_lanes] = list.begin;
      group_->outs[num_lanes] = out;
      indptr[destination + 1] = out + fanout;
      ++num_lanes;
    } else {
      uint32_t edge = out;
      for (const uint64_t place :
           DrawLarge(request.key, request.nodes[i], list.degree, fanout)) {
        ring_.Put(edge++, list.begin + static_cast<EdgeOffset>(place));
      }
      indptr[destination + 1] = edge;
    }
  }
  group_->num_lanes = num_lanes;
}

template <typename Index>
void UniformHops<Index>::FillSmall(const HopRequest& request,
                                   const TaskWriter::HopArrays& hop) {
  const auto fanout = static_cast<uint32_t>(request.fanout);
  const DrawLanesFn draw =
      options_.replace ? options_.lanes.draw_any : options_.lanes.draw_distinct;
  const uint64_t num_nodes = request.nodes.size();
  for (uint64_t first = request.first; first < num_nodes; first += kDrawLanes) {
    Sort(request, first, hop.indptr);
    const Group& group = *group_;
    if (group.num_lanes > 0) {
      draw(request.key, fanout, group.num_lanes, &group_->draws);
    }
    for (uint32_t lane = 0; lane < group.num_lanes; ++lane) {
      for (uint32_t j = 0; j < fanout; ++j) {
        ring_.Put(group.outs[lane] + j,
                  group.begins[lane] + EdgeOffset{group.draws.places[j][lane]});
      }
    }
    ring_.ReadMost(
        hop.indptr[std::min(first + kDrawLanes, num_nodes) - request.first]);
  }
  ring_.ReadAll(hop.indptr[num_nodes - request.first]);
}

template <typename Index>
void UniformHops<Index>::FillLarge(const HopRequest& request,
                                   const TaskWriter::HopArrays& hop) {
  const bool all = request.fanout < 0;
  const auto fanout = static_cast<uint32_t>(request.fanout);
  const uint64_t most_taken_whole =
      all ? UINT64_MAX : (options_.replace ? 0 : fanout);
  const uint64_t num_nodes = request.nodes.size();
  uint32_t out = 0;
  // Puts edge by edge, as a list may be longer than the ring.
  const auto put = [&](EdgeOffset place) {
    ring_.Put(out++, place);
    ring_.ReadMost(out);
  };
  for (uint64_t i = request.first; i < num_nodes; ++i) {
    progress_.Tick();
    const AdjacencyList& list = lists_[i];
    if (list.degree <= most_taken_whole) {
      for (uint64_t j = 0; j < list.degree; ++j) {
        put(list.begin + static_cast<EdgeOffset>(j));
      }
    } else {
      for (const uint64_t place :
           DrawLarge(request.key, request.nodes[i], list.degree, fanout)) {
        put(list.begin + static_cast<EdgeOffset>(place));
      }
    }
    hop.indptr[i - request.first + 1] = out;
  }
  ring_.ReadAll(out);
}

template <typename Index>
absl::StatusOr<uint64_t> UniformHops<Index>::Sample(const HopRequest& request,
                                                    MakeRoom make_room) {
  FGNN_RETURN_IF_ERROR(lists_.LookUp(request.nodes, &progress_));
  const uint64_t num_edges =
      lists_.CountEdges(request.first, request.fanout, options_.replace);
  FGNN_ASSIGN_OR_RETURN(const TaskWriter::HopArrays hop, make_room(num_edges));
  hop.indptr[0] = 0;
  EdgeOffset* places = nullptr;
  if (request.places != nullptr) {
    const size_t before = request.places->size();
    request.places->resize(before + num_edges);
    places = request.places->data() + before;
  }
  ring_.StartHop(hop.indices, places);
  if (request.fanout < 0 ||
      static_cast<uint32_t>(request.fanout) > kMaxLaneFanout) {
    FillLarge(request, hop);
  } else {
    FillSmall(request, hop);
  }
  FGNN_RETURN_IF_ERROR(ring_.CheckRead(options_.input.graph));
  return num_edges;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HopSampler>> NewUniformHops(
    const HopsOptions& options) {
  return NewHops<UniformHops>(options);
}

}  // namespace fgnn
