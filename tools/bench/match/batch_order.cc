#include "tools/bench/match/batch_order.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

namespace fgnn {
namespace {

uint64_t Bit(size_t batch) { return uint64_t{1} << batch; }

// Returns, for each batch of a window, the most rows that orders of the window
// match which end with it. `first` [n]: the most that is matched up to the
// window's first batch, if that is this one.
std::vector<uint64_t> MostEndingWith(const SharedRows::Table& shared,
                                     absl::Span<const uint64_t> first) {
  const size_t n = shared.size();
  // [set of batches that are done][last of them]
  std::vector<std::optional<uint64_t>> most((size_t{1} << n) * n);
  for (size_t a = 0; a < n; ++a) most[Bit(a) * n + a] = first[a];
  for (uint64_t done = 1; done < Bit(n); ++done) {
    for (size_t last = 0; last < n; ++last) {
      const std::optional<uint64_t>& matched = most[done * n + last];
      if (!matched.has_value()) continue;
      for (size_t next = 0; next < n; ++next) {
        if ((done & Bit(next)) != 0) continue;
        std::optional<uint64_t>& longer = most[(done | Bit(next)) * n + next];
        longer = std::max(longer.value_or(0), *matched + shared[last][next]);
      }
    }
  }
  std::vector<uint64_t> ending;
  for (size_t last = 0; last < n; ++last) {
    ending.push_back(most[(Bit(n) - 1) * n + last].value());
  }
  return ending;
}

}  // namespace

SharedRows::Table SharedRows::Of(absl::Span<const BatchRows> batches) {
  Table shared(batches.size(), std::vector<uint64_t>(batches.size()));
  for (size_t a = 0; a < batches.size(); ++a) {
    for (const GlobalId v : batches[a]) masks_[v] |= Bit(a);
  }
  // The first batch that has a vertex counts it for all pairs.
  for (const BatchRows& batch : batches) {
    for (const GlobalId v : batch) {
      for (uint64_t left = std::exchange(masks_[v], 0); left != 0;) {
        const auto a = static_cast<size_t>(std::countr_zero(left));
        ++shared[a][a];
        left &= left - 1;
        for (uint64_t others = left; others != 0; others &= others - 1) {
          ++shared[a][static_cast<size_t>(std::countr_zero(others))];
        }
      }
    }
  }
  for (size_t a = 0; a < batches.size(); ++a) {
    for (size_t b = 0; b < a; ++b) shared[a][b] = shared[b][a];
  }
  return shared;
}

std::vector<uint64_t> SharedRows::With(const BatchRows& other,
                                       absl::Span<const BatchRows> batches) {
  for (const GlobalId v : other) masks_[v] = 1;
  std::vector<uint64_t> shared;
  for (const BatchRows& batch : batches) {
    shared.push_back(static_cast<uint64_t>(
        std::count_if(batch.begin(), batch.end(),
                      [this](GlobalId v) { return masks_[v] != 0; })));
  }
  for (const GlobalId v : other) masks_[v] = 0;
  return shared;
}

std::vector<size_t> GreedyOrder(const SharedRows::Table& shared,
                                absl::Span<const uint64_t> with_before) {
  std::vector<size_t> order;
  std::vector<bool> is_taken(shared.size());
  absl::Span<const uint64_t> with_last = with_before;
  while (order.size() < shared.size()) {
    std::optional<size_t> best;
    for (size_t b = 0; b < shared.size(); ++b) {
      if (is_taken[b]) continue;
      if (!best.has_value() || with_last[b] > with_last[*best]) best = b;
    }
    is_taken[*best] = true;
    order.push_back(*best);
    with_last = shared[*best];
  }
  return order;
}

uint64_t GreedyMatched(absl::Span<const BatchRows> batches, size_t window,
                       SharedRows* counter) {
  uint64_t matched = 0;
  BatchRows before;
  for (size_t begin = 0; begin < batches.size(); begin += window) {
    const auto part = batches.subspan(begin, window);
    const SharedRows::Table shared = counter->Of(part);
    const std::vector<uint64_t> with_before = counter->With(before, part);
    const std::vector<size_t> order = GreedyOrder(shared, with_before);
    matched += with_before[order.front()];
    for (size_t i = 1; i < order.size(); ++i) {
      matched += shared[order[i - 1]][order[i]];
    }
    before = part[order.back()];
  }
  return matched;
}

uint64_t MostMatched(absl::Span<const BatchRows> batches, size_t window,
                     SharedRows* counter) {
  // For each batch that a window can end with: the most that is matched so far.
  std::vector<uint64_t> ending = {0};
  BatchRows none;
  absl::Span<const BatchRows> before(&none, 1);
  for (size_t begin = 0; begin < batches.size(); begin += window) {
    const auto part = batches.subspan(begin, window);
    std::vector<uint64_t> first(part.size());
    for (size_t last = 0; last < before.size(); ++last) {
      const std::vector<uint64_t> with = counter->With(before[last], part);
      for (size_t b = 0; b < part.size(); ++b) {
        first[b] = std::max(first[b], ending[last] + with[b]);
      }
    }
    ending = MostEndingWith(counter->Of(part), first);
    before = part;
  }
  return *std::max_element(ending.begin(), ending.end());
}

}  // namespace fgnn
