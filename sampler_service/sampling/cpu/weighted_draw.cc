#include "sampler_service/sampling/cpu/weighted_draw.h"

#include <algorithm>
#include <bit>

namespace fgnn {
namespace {

constexpr uint64_t kNeighboursPerTick = 1 << 16;

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

WeightedDraw::WeightedDraw(const AliasTables& weights, uint32_t max_fanout)
    : cells_(weights.cells().data()),
      weights_(weights.weights().data()),
      drawn_(max_fanout) {
  places_.reserve(max_fanout);
  race_.reserve(max_fanout);
}

uint64_t WeightedDraw::Alias(PhiloxHalves& draws, const AdjacencyList& list,
                             uint32_t attempt) const {
  const Uint128 product =
      static_cast<Uint128>(draws.Get(attempt)) * list.degree;
  const auto place = static_cast<uint32_t>(product >> 64);
  const auto coin = static_cast<uint32_t>(product >> 32);
  const AliasCell& cell = cells_[list.begin + EdgeOffset{place}];
  return coin < cell.threshold ? place : cell.other;
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
