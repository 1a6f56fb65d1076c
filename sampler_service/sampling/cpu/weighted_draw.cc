#include "sampler_service/sampling/cpu/weighted_draw.h"

#include <algorithm>

namespace fgnn {
namespace {

constexpr uint64_t kNeighboursPerTick = 1 << 16;

}  // namespace

WeightedDraw::WeightedDraw(const AliasTables& weights, uint32_t max_fanout)
    : cells_(weights.cells().data()),
      weights_(weights.weights().data()),
      drawn_(max_fanout) {
  places_.reserve(max_fanout);
  race_.reserve(max_fanout);
}

uint64_t WeightedDraw::Alias(PhiloxHalves& draws, const AdjacencyList& list,
                             uint32_t attempt) const {
  const AliasDraw draw = DrawAlias(draws.Get(attempt), list.degree);
  const AliasCell& cell = cells_[list.begin + EdgeOffset{draw.place}];
  return draw.coin < cell.threshold ? draw.place : cell.other;
}

absl::Span<const uint64_t> WeightedDraw::DrawAny(PhiloxKey key, GlobalId v,
                                                 const AdjacencyList& list,
                                                 uint32_t fanout) {
  places_.clear();
  PhiloxHalves draws(key, v, /*stream=*/0);
  for (uint32_t a = 0; a < fanout; ++a) {
    places_.push_back(Alias(draws, list, a));
  }
  return places_;
}

absl::Span<const uint64_t> WeightedDraw::Draw(
    PhiloxKey key, GlobalId v, const AdjacencyList& list, uint32_t fanout,
    absl::Span<const uint32_t> drawn, uint32_t next, Progress* progress) {
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
    Race(key, v, list, fanout - static_cast<uint32_t>(places_.size()),
         progress);
  }
  return places_;
}

void WeightedDraw::Race(PhiloxKey key, GlobalId v, const AdjacencyList& list,
                        uint32_t count, Progress* progress) {
  race_.clear();
  PhiloxHalves draws(key, v, /*stream=*/1);
  for (uint64_t i = 0; i < list.degree; ++i) {
    if (i % kNeighboursPerTick == 0) progress->Tick();
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

}  // namespace fgnn
