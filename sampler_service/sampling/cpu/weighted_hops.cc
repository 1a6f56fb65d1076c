#include "sampler_service/sampling/cpu/weighted_hops.h"

#include <algorithm>
#include <array>
#include <bit>
#include <new>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sampler_service/sampling/cpu/adjacency_lists.h"
#include "sampler_service/sampling/cpu/place_set.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr uint32_t kAttemptsPerEdge = 4;
// FindRepeatsFn has a bit for each draw.
constexpr uint32_t kMaxDistinctLaneFanout = 32;

// Attempts that lanes make for each destination. Those beyond the fanout are
// looked at only where some before them repeat.
uint32_t LaneAttempts(uint32_t fanout, bool replace) {
  return replace ? fanout
                 : std::min(fanout + 4 + fanout / 4, kAttemptsPerEdge * fanout);
}

// Places of one destination.
class WeightedDraw {
 public:
  WeightedDraw(const AliasTables& weights, uint32_t max_fanout)
      : cells_(weights.cells().data()),
        weights_(weights.weights().data()),
        drawn_(max_fanout) {
    places_.reserve(max_fanout);
    race_.reserve(max_fanout);
  }

  static uint32_t Resolve(AliasCell cell, uint32_t place, uint32_t coin) {
    return coin < cell.threshold ? place : cell.other;
  }

  // Valid until the next call.
  absl::Span<const uint64_t> WithReplacement(PhiloxKey key, GlobalId v,
                                             const AdjacencyList& list,
                                             uint32_t fanout) {
    places_.clear();
    PhiloxHalves draws(key, v, /*stream=*/0);
    for (uint32_t a = 0; a < fanout; ++a)
      places_.push_back(Alias(draws, list, a));
    return places_;
  }

  // Without replacement. `drawn`: what the attempts before `next` gave.
  // Requires degree > fanout.
  absl::Span<const uint64_t> GoOn(PhiloxKey key, GlobalId v,
                                  const AdjacencyList& list, uint32_t fanout,
                                  absl::Span<const uint32_t> drawn,
                                  uint32_t next) {
    places_.assign(drawn.begin(), drawn.end());
    drawn_.Start(fanout);
    for (const uint32_t place : drawn) drawn_.Insert(place);
    PhiloxHalves draws(key, v, /*stream=*/0);
    for (uint32_t a = next;
         a < kAttemptsPerEdge * fanout && places_.size() < fanout; ++a) {
      const uint64_t place = Alias(draws, list, a);
      if (drawn_.Insert(place)) places_.push_back(place);
    }
    if (places_.size() < fanout) {
      Race(key, v, list, fanout - static_cast<uint32_t>(places_.size()));
    }
    return places_;
  }
  absl::Span<const uint64_t> places() const { return places_; }

  uint64_t workspace_bytes() const {
    return places_.capacity() * sizeof(uint64_t) +
           race_.capacity() * sizeof(Runner) + drawn_.workspace_bytes();
  }

 private:
  struct Runner {
    double time;
    uint64_t place;
    friend auto operator<=>(const Runner&, const Runner&) = default;
  };

  uint64_t Alias(PhiloxHalves& draws, const AdjacencyList& list,
                 uint32_t a) const {
    const Uint128 product = static_cast<Uint128>(draws.Get(a)) * list.degree;
    const auto place = static_cast<uint32_t>(product >> 64);
    const auto coin = static_cast<uint32_t>(product >> 32);
    // A damaged table may not lead outside the list.
    return std::min<uint64_t>(
        Resolve(cells_[list.begin + EdgeOffset{place}], place, coin),
        list.degree - 1);
  }

  // The first `count` of the places that are not drawn yet.
  void Race(PhiloxKey key, GlobalId v, const AdjacencyList& list,
            uint32_t count) {
    race_.clear();  // A heap, the slowest on top.
    PhiloxHalves draws(key, v, /*stream=*/1);
    for (uint64_t i = 0; i < list.degree; ++i) {
      const float weight = weights_[list.begin + static_cast<EdgeOffset>(i)];
      if (!(weight > 0) || drawn_.Contains(i)) continue;
      const Runner runner = {Exponential(draws.Get(static_cast<uint32_t>(i))) /
                                 static_cast<double>(weight),
                             i};
      if (race_.size() == count) {
        if (!(runner < race_.front())) continue;
        std::pop_heap(race_.begin(), race_.end());
        race_.pop_back();
      }
      race_.push_back(runner);
      std::push_heap(race_.begin(), race_.end());
    }
    std::sort_heap(race_.begin(), race_.end());
    for (const Runner& runner : race_) places_.push_back(runner.place);
  }

  const AliasCell* cells_;
  const float* weights_;
  PlaceSet drawn_;
  std::vector<uint64_t> places_;
  std::vector<Runner> race_;
};

template <typename Index>
class WeightedHops final : public HopSampler {
 public:
  WeightedHops(const WeightedHopsOptions& options,
               absl::Span<const Index> indices)
      : options_(options),
        lists_(options.graph.indptr, indices.size(), options.max_destinations),
        indices_(indices),
        draw_(*options.weights, options.max_fanout),
        group_(new (std::nothrow) Group) {}
  bool has_memory() const { return lists_.has_memory() && group_ != nullptr; }

  void StartBatch() override { lists_.StartBatch(); }
  absl::StatusOr<uint64_t> Sample(const HopRequest& request,
                                  MakeRoom make_room) override;
  uint64_t workspace_bytes() const override {
    return lists_.workspace_bytes() + sizeof(Group) + draw_.workspace_bytes();
  }

 private:
  struct Group {
    LaneDraws draws;
    std::array<EdgeOffset, kDrawLanes> begins;
    // [attempt][lane]: the vertices at draws.places, of the first f attempts.
    std::array<std::array<GlobalId, kDrawLanes>, kMaxLaneFanout> vertices;
  };

  bool TakenWhole(uint64_t degree, int32_t fanout) const {
    return fanout < 0 || degree == 0 ||
           (!options_.replace && degree <= static_cast<uint64_t>(fanout));
  }
  void DrawLanes(const HopRequest& request, uint64_t first, uint64_t last);
  // These write the edges of the i-th vertex from `out` on; return the end.
  uint32_t* PutLane(const HopRequest& request, uint64_t i, uint32_t lane,
                    uint32_t* out);
  uint32_t* PutPlaces(const AdjacencyList& list,
                      absl::Span<const uint64_t> places, uint32_t* out);
  uint32_t* PutWhole(const AdjacencyList& list, uint32_t* out);
  void FillGroup(const HopRequest& request, uint64_t first, uint64_t last,
                 bool with_lanes, const TaskWriter::HopArrays& hop);

  WeightedHopsOptions options_;
  AdjacencyLists lists_;
  absl::Span<const Index> indices_;
  WeightedDraw draw_;
  std::unique_ptr<Group> group_;
};

// Makes the attempts of all destinations of a group that lanes draw for, and
// resolves the first f.
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
  const AliasCell* const cells = options_.weights->cells().data();
  const auto cell_of = [&](uint32_t a, uint32_t lane) {
    return &cells[group.begins[lane] + EdgeOffset{draws.places[a][lane]}];
  };
  // The cells of an attempt are fetched while those of the one before are read.
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
    *out++ = static_cast<uint32_t>(indices[std::min(place, list.degree - 1)]);
  }
  return out;
}

template <typename Index>
uint32_t* WeightedHops<Index>::PutWhole(const AdjacencyList& list,
                                        uint32_t* out) {
  const Index* const indices = indices_.data() + list.begin;
  const float* const weights = options_.weights->weights().data() + list.begin;
  const bool all_positive = options_.weights->all_positive();
  for (uint64_t i = 0; i < list.degree; ++i) {
    if (all_positive || weights[i] > 0) {
      *out++ = static_cast<uint32_t>(indices[i]);
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
  const AliasCell* const cells = options_.weights->cells().data() + list.begin;
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
  if (num_drawn == fanout) return out + fanout;
  return PutPlaces(list,
                   draw_.GoOn(request.key, request.nodes[i], list, fanout,
                              {drawn.data(), num_drawn}, attempts),
                   out);
}

template <typename Index>
void WeightedHops<Index>::FillGroup(const HopRequest& request, uint64_t first,
                                    uint64_t last, bool with_lanes,
                                    const TaskWriter::HopArrays& hop) {
  progress_.Tick();
  if (with_lanes) DrawLanes(request, first, last);
  const auto fanout = static_cast<uint32_t>(request.fanout);
  uint32_t* out = hop.indices + hop.indptr[first - request.first];
  uint32_t lane = 0;
  for (uint64_t i = first; i < last; ++i) {
    const AdjacencyList& list = lists_[i];
    if (TakenWhole(list.degree, request.fanout)) {
      out = PutWhole(list, out);
    } else if (with_lanes) {
      out = PutLane(request, i, lane++, out);
    } else {
      const GlobalId v = request.nodes[i];
      out = PutPlaces(list,
                      options_.replace
                          ? draw_.WithReplacement(request.key, v, list, fanout)
                          : draw_.GoOn(request.key, v, list, fanout, {}, 0),
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
  uint64_t most_edges = 0;
  if (request.fanout < 0) {
    most_edges = lists_.CountEdges(request.first, UINT64_MAX);
  } else {
    const auto fanout = static_cast<uint64_t>(request.fanout);
    most_edges = options_.replace ? fanout * lists_.CountEdges(request.first, 1)
                                  : lists_.CountEdges(request.first, fanout);
  }
  FGNN_ASSIGN_OR_RETURN(const TaskWriter::HopArrays hop, make_room(most_edges));
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
  uint32_t largest = 0;
  for (uint32_t e = 0; e < num_edges; ++e) {
    largest = std::max(largest, hop.indices[e]);
  }
  if (largest >= options_.graph.num_nodes()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an edge leads from vertex ", largest, "; vertices are in [0, ",
        options_.graph.num_nodes(), "): validate the dataset again"));
  }
  return num_edges;
}

template <typename Index>
absl::StatusOr<std::unique_ptr<HopSampler>> Create(
    const WeightedHopsOptions& options, absl::Span<const Index> indices) {
  auto hops = std::make_unique<WeightedHops<Index>>(options, indices);
  if (hops->has_memory()) return hops;
  return absl::ResourceExhaustedError(absl::StrCat(
      "no memory for a sampler's workspace of ", hops->workspace_bytes(),
      " bytes; lower sampling.threads or sampling.batch_size"));
}

}  // namespace

double Exponential(uint64_t random_bits) {
  // u = n / 2^53 with n in [1, 2^53]: -ln(u) = 53 ln 2 - ln(n).
  const uint64_t n = (random_bits >> 11) + 1;
  const int exponent = static_cast<int>(std::bit_width(n)) - 1;
  // n = 2^exponent * m, m in [1, 2), halved where it is beyond sqrt(2).
  double m = static_cast<double>(n);
  uint64_t bits = std::bit_cast<uint64_t>(m);
  bits = (bits & 0x000f'ffff'ffff'ffffu) | 0x3ff0'0000'0000'0000u;
  m = std::bit_cast<double>(bits);
  int halvings = 0;
  if (m > 1.4142135623730951) {
    m *= 0.5;
    halvings = 1;
  }
  // ln(m) = 2 atanh(s), s = (m - 1) / (m + 1), |s| below 0.1716.
  const double s = (m - 1) / (m + 1);
  const double s2 = s * s;
  double series = 0;
  for (int k = 21; k >= 1; k -= 2) {
    const double scaled = series * s2;
    series = 1.0 / k + scaled;
  }
  const double twice_s = 2 * s;
  const double log_m = twice_s * series;
  const double powers = (53 - exponent - halvings) * 0.6931471805599453;
  return powers - log_m;
}

absl::StatusOr<std::unique_ptr<HopSampler>> NewWeightedHops(
    const WeightedHopsOptions& options) {
  return std::visit([&](auto indices) { return Create(options, indices); },
                    options.graph.indices);
}

}  // namespace fgnn
