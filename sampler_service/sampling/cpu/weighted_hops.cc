#include "sampler_service/sampling/cpu/weighted_hops.h"

#include <algorithm>
#include <array>
#include <new>
#include <vector>

#include "absl/types/span.h"
#include "sampler_service/sampling/cpu/adjacency_lists.h"
#include "sampler_service/sampling/cpu/new_hops.h"
#include "sampler_service/sampling/cpu/weighted_draw.h"
#include "shared/base/read_once.h"
#include "shared/base/status.h"
#include "shared/graph/edge_lists.h"

namespace fgnn {
namespace {

// Most distinct draws in lanes: FindRepeatsFn has a bit for each draw.
constexpr uint32_t kMaxDistinctLaneFanout = 32;

// Returns the attempts that lanes make for each destination. Attempts beyond
// the fanout are used only where some before them repeat.
uint32_t LaneAttempts(uint32_t fanout, bool replace) {
  return replace ? fanout
                 : std::min(fanout + 4 + fanout / 4, kAttemptsPerEdge * fanout);
}

template <typename Index>
class WeightedHops final : public HopSampler {
 public:
  WeightedHops(const HopsOptions& options, absl::Span<const Index> indices)
      : options_(options),
        lists_(options.input.graph, options.max_destinations),
        indices_(indices),
        draw_(*options.input.weights, options.max_fanout),
        group_(new (std::nothrow) Group) {}
  bool has_memory() const { return lists_.has_memory() && group_ != nullptr; }

  void StartBatch() override { lists_.StartBatch(); }
  bool KeepsPlaces() const override { return true; }
  absl::StatusOr<uint64_t> Sample(const HopRequest& request,
                                  MakeRoom make_room) override;
  uint64_t workspace_bytes() const override {
    return lists_.workspace_bytes() + sizeof(Group) + draw_.workspace_bytes();
  }

 private:
  struct Group {
    LaneDraws draws;
    std::array<EdgeOffset, kDrawLanes> begins;
    // [attempt][lane]: the vertices at draws.places, for the first f attempts.
    std::array<std::array<GlobalId, kDrawLanes>, kMaxLaneFanout> vertices;
  };

  bool TakenWhole(uint64_t degree, int32_t fanout) const {
    return fanout < 0 || degree == 0 ||
           (!options_.replace && degree <= static_cast<uint64_t>(fanout));
  }
  uint32_t Checked(Index index) {
    largest_ = std::max(largest_, static_cast<uint64_t>(index));
    return static_cast<uint32_t>(index);
  }
  void Tell(const AdjacencyList& list, uint64_t place) {
    if (tells_ == nullptr) return;
    tells_->push_back(list.begin + static_cast<EdgeOffset>(place));
  }
  void DrawLanes(const HopRequest& request, uint64_t first, uint64_t last);
  // Each function writes the edges of the i-th vertex from `out` on, and
  // returns their end.
  uint32_t* PutLane(const HopRequest& request, uint64_t i, uint32_t lane,
                    uint32_t* out);
  uint32_t* PutPlaces(const AdjacencyList& list,
                      absl::Span<const uint64_t> places, uint32_t* out);
  uint32_t* PutWhole(const AdjacencyList& list, uint32_t* out);
  void FillGroup(const HopRequest& request, uint64_t first, uint64_t last,
                 bool with_lanes, const TaskWriter::HopArrays& hop);

  HopsOptions options_;
  AdjacencyLists lists_;
  absl::Span<const Index> indices_;
  WeightedDraw draw_;
  std::unique_ptr<Group> group_;
  uint64_t largest_ = 0;  // Largest index of this hop; negative ones are huge.
  // Gets the places of this hop's edges, or null.
  std::vector<EdgeOffset>* tells_ = nullptr;
};

// Makes the attempts of all destinations of a group that lanes draw for. Looks
// up the vertices of the first f attempts.
template <typename Index>
void WeightedHops<Index>::DrawLanes(const HopRequest& request, uint64_t first,
                                    uint64_t last) {
  Group& group = *group_;
  LaneDraws& draws = group.draws;
  const auto fanout = static_cast<uint32_t>(request.fanout);
  uint32_t num_lanes = 0;
  for (uint64_t i = first; i < last; ++i) {
    if (TakenWhole(lists_[i].degree, request.fanout)) {
      __builtin_prefetch(indices_.data() + lists_[i].begin);
      continue;
    }
    draws.global_ids[num_lanes] = request.nodes[i];
    draws.degrees[num_lanes] = static_cast<uint32_t>(lists_[i].degree);
    group.begins[num_lanes++] = lists_[i].begin;
  }
  if (num_lanes == 0) return;
  options_.lanes.draw_any(request.key, LaneAttempts(fanout, options_.replace),
                          num_lanes, &draws);
  const AliasCell* const cells = options_.input.weights->cells().data();
  const auto cell_of = [&](uint32_t a, uint32_t lane) {
    return &cells[group.begins[lane] + EdgeOffset{draws.places[a][lane]}];
  };
  // The cells of an attempt are fetched while the cells of the attempt before
  // are read.
  for (uint32_t lane = 0; lane < num_lanes; ++lane) {
    __builtin_prefetch(cell_of(0, lane));
  }
  for (uint32_t a = 0; a < fanout; ++a) {
    const bool has_next = a + 1 < fanout;
    uint32_t* const places = draws.places[a];
    const uint32_t* const coins = draws.coins[a];
    GlobalId* const vertices = group.vertices[a].data();
    for (uint32_t lane = 0; lane < num_lanes; ++lane) {
      if (has_next) __builtin_prefetch(cell_of(a + 1, lane));
      const AliasCell cell = *cell_of(a, lane);
      const bool stays = coins[lane] < cell.threshold;
      places[lane] = stays ? places[lane] : cell.other;
      vertices[lane] = stays ? cell.vertex : cell.other_vertex;
    }
  }
  if (options_.replace) return;
  options_.lanes.find_repeats(fanout, num_lanes, &draws);
  for (uint32_t lane = 0; lane < num_lanes; ++lane) {
    if (draws.repeats[lane] == 0) continue;
    __builtin_prefetch(cell_of(fanout, lane));
    __builtin_prefetch(cell_of(fanout + 1, lane));
  }
}

template <typename Index>
uint32_t* WeightedHops<Index>::PutPlaces(const AdjacencyList& list,
                                         absl::Span<const uint64_t> places,
                                         uint32_t* out) {
  const Index* const indices = indices_.data() + list.begin;
  for (const uint64_t place : places) {
    // A damaged table may not lead outside the list.
    const uint64_t within = std::min(place, list.degree - 1);
    *out++ = Checked(ReadOnce(indices[within]));
    Tell(list, within);
  }
  return out;
}

template <typename Index>
uint32_t* WeightedHops<Index>::PutWhole(const AdjacencyList& list,
                                        uint32_t* out) {
  const Index* const indices = indices_.data() + list.begin;
  const float* const weights =
      options_.input.weights->weights().data() + list.begin;
  const bool all_positive = options_.input.weights->all_positive();
  for (uint64_t i = 0; i < list.degree; ++i) {
    if (all_positive || weights[i] > 0) {
      *out++ = Checked(ReadOnce(indices[i]));
      Tell(list, i);
    }
  }
  return out;
}

template <typename Index>
uint32_t* WeightedHops<Index>::PutLane(const HopRequest& request, uint64_t i,
                                       uint32_t lane, uint32_t* out) {
  const LaneDraws& draws = group_->draws;
  const AdjacencyList& list = lists_[i];
  const auto fanout = static_cast<uint32_t>(request.fanout);
  if (options_.replace || draws.repeats[lane] == 0) {
    for (uint32_t a = 0; a < fanout; ++a) out[a] = group_->vertices[a][lane];
    for (uint32_t a = 0; tells_ != nullptr && a < fanout; ++a) {
      Tell(list, draws.places[a][lane]);
    }
    return out + fanout;
  }
  std::array<uint32_t, kMaxDistinctLaneFanout + 1> drawn;
  uint32_t num_drawn = 0;
  for (uint32_t a = 0; a < fanout; ++a) {
    drawn[num_drawn] = draws.places[a][lane];
    out[num_drawn] = group_->vertices[a][lane];
    num_drawn += ~(draws.repeats[lane] >> a) & 1;
  }
  const uint32_t attempts = LaneAttempts(fanout, options_.replace);
  const AliasCell* const cells =
      options_.input.weights->cells().data() + list.begin;
  for (uint32_t a = fanout; a < attempts && num_drawn < fanout; ++a) {
    const uint32_t hit = draws.places[a][lane];
    const AliasCell& cell = cells[hit];
    const bool stays = draws.coins[a][lane] < cell.threshold;
    const uint32_t place = stays ? hit : cell.other;
    bool repeats = false;
    for (uint32_t k = 0; k < num_drawn; ++k) repeats |= drawn[k] == place;
    drawn[num_drawn] = place;
    out[num_drawn] = stays ? cell.vertex : cell.other_vertex;
    num_drawn += repeats ? 0 : 1;
  }
  if (num_drawn == fanout) {
    for (uint32_t k = 0; k < fanout; ++k) Tell(list, drawn[k]);
    return out + fanout;
  }
  return PutPlaces(list,
                   draw_.Draw(request.key, request.nodes[i], list, fanout,
                              {drawn.data(), num_drawn}, attempts, &progress_),
                   out);
}

template <typename Index>
void WeightedHops<Index>::FillGroup(const HopRequest& request, uint64_t first,
                                    uint64_t last, bool with_lanes,
                                    const TaskWriter::HopArrays& hop) {
  if (with_lanes) DrawLanes(request, first, last);
  const auto fanout = static_cast<uint32_t>(request.fanout);
  uint32_t* out = hop.indices + hop.indptr[first - request.first];
  uint32_t lane = 0;
  for (uint64_t i = first; i < last; ++i) {
    progress_.Tick();
    const AdjacencyList& list = lists_[i];
    if (TakenWhole(list.degree, request.fanout)) {
      out = PutWhole(list, out);
    } else if (with_lanes) {
      out = PutLane(request, i, lane++, out);
    } else {
      const GlobalId v = request.nodes[i];
      out = PutPlaces(
          list,
          options_.replace
              ? draw_.DrawAny(request.key, v, list, fanout)
              : draw_.Draw(request.key, v, list, fanout, {}, 0, &progress_),
          out);
    }
    hop.indptr[i - request.first + 1] =
        static_cast<uint32_t>(out - hop.indices);
  }
}

template <typename Index>
absl::StatusOr<uint64_t> WeightedHops<Index>::Sample(const HopRequest& request,
                                                     MakeRoom make_room) {
  FGNN_RETURN_IF_ERROR(lists_.LookUp(request.nodes, &progress_));
  FGNN_ASSIGN_OR_RETURN(const TaskWriter::HopArrays hop,
                        make_room(lists_.CountEdges(
                            request.first, request.fanout, options_.replace)));
  largest_ = 0;
  tells_ = request.places;
  const uint32_t max_lane_fanout =
      options_.replace ? kMaxLaneFanout : kMaxDistinctLaneFanout;
  const bool with_lanes =
      request.fanout > 0 &&
      static_cast<uint32_t>(request.fanout) <= max_lane_fanout;
  hop.indptr[0] = 0;
  const uint64_t num_nodes = request.nodes.size();
  for (uint64_t first = request.first; first < num_nodes; first += kDrawLanes) {
    FillGroup(request, first, std::min<uint64_t>(first + kDrawLanes, num_nodes),
              with_lanes, hop);
  }
  const uint32_t num_edges = hop.indptr[num_nodes - request.first];
  // Checks the vertices in case the table's cells are damaged.
  for (uint32_t e = 0; e < num_edges; ++e) {
    largest_ = std::max<uint64_t>(largest_, hop.indices[e]);
  }
  FGNN_RETURN_IF_ERROR(CheckLargestIndex(options_.input.graph, largest_));
  return num_edges;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HopSampler>> NewWeightedHops(
    const HopsOptions& options) {
  return NewHops<WeightedHops>(options);
}

}  // namespace fgnn
