#include "tools/bench/match/batch_order.h"

#include <algorithm>
#include <optional>

#include "sampler_service/order/matched_path.h"

namespace fgnn {
namespace {

uint64_t Bit(uint32_t batch) { return uint64_t{1} << batch; }

// Returns, for each of the last batches from `begin` on, the most rows that
// orders of them match which end with it. `first`: the most that is matched up
// to the first of them, if that is this one.
std::vector<uint64_t> MostEndingWith(const OverlapMatrix& overlap,
                                     uint32_t begin,
                                     absl::Span<const uint64_t> first) {
  const uint32_t n = overlap.size() - begin;
  // [set of batches that are done][last of them]
  std::vector<std::optional<uint64_t>> most(Bit(n) * n);
  for (uint32_t a = 0; a < n; ++a) most[Bit(a) * n + a] = first[a];
  for (uint64_t done = 1; done < Bit(n); ++done) {
    for (uint32_t last = 0; last < n; ++last) {
      const std::optional<uint64_t>& matched = most[done * n + last];
      if (!matched.has_value()) continue;
      for (uint32_t next = 0; next < n; ++next) {
        if ((done & Bit(next)) != 0) continue;
        std::optional<uint64_t>& longer = most[(done | Bit(next)) * n + next];
        longer =
            std::max(longer.value_or(0),
                     *matched + overlap.Shared(begin + last, begin + next));
      }
    }
  }
  std::vector<uint64_t> ending;
  for (uint32_t last = 0; last < n; ++last) {
    ending.push_back(most[(Bit(n) - 1) * n + last].value());
  }
  return ending;
}

}  // namespace

OverlapMatrix OverlapOf(absl::Span<const BatchRows> batches,
                        WindowOverlap* counter) {
  counter->StartWindow();
  for (const BatchRows& rows : batches) {
    counter->StartBatch();
    counter->Add(rows);
  }
  return counter->Count();
}

std::vector<BatchRange> WindowsOf(uint64_t num_batches,
                                  const MatchedOrderOptions& options) {
  const BatchSeq end(num_batches);
  std::vector<BatchRange> windows;
  for (BatchSeq begin(0); begin < end; begin = windows.back().end) {
    windows.push_back(WindowOf(begin, options));
    windows.back().end = std::min(windows.back().end, end);
  }
  return windows;
}

std::vector<size_t> MatchedBatches(absl::Span<const BatchRows> batches,
                                   const MatchedOrderOptions& options,
                                   WindowOverlap* counter) {
  std::vector<size_t> order;
  for (const BatchRange& window : WindowsOf(batches.size(), options)) {
    const uint64_t begin = window.begin.value();
    const OverlapMatrix overlap =
        OverlapOf(batches.subspan(begin, window.size()), counter);
    for (const uint32_t drawn : MatchedPath(overlap, options.chains)) {
      order.push_back(begin + drawn);
    }
  }
  return order;
}

std::vector<std::vector<size_t>> DealToTrainers(
    absl::Span<const size_t> order, const MatchedOrderOptions& options) {
  std::vector<std::vector<size_t>> dealt(options.chains);
  for (size_t i = 0; i < order.size(); ++i) {
    const BatchPlace place =
        PlaceInEpoch(BatchSeq(i), options.batches_per_epoch);
    dealt[place.batch % options.chains].push_back(order[i]);
  }
  return dealt;
}

uint64_t MostMatched(absl::Span<const BatchRows> batches,
                     const MatchedOrderOptions& options,
                     WindowOverlap* counter) {
  // For each batch of the window before: the most that is matched so far if
  // that window ends with it.
  std::vector<uint64_t> ending;
  for (const BatchRange& window : WindowsOf(batches.size(), options)) {
    const auto before = static_cast<uint32_t>(ending.size());
    const OverlapMatrix overlap = OverlapOf(
        batches.subspan(window.begin.value() - before, before + window.size()),
        counter);
    std::vector<uint64_t> first(window.size());
    for (uint32_t last = 0; last < before; ++last) {
      for (uint32_t b = 0; b < first.size(); ++b) {
        first[b] =
            std::max(first[b], ending[last] + overlap.Shared(last, before + b));
      }
    }
    ending = MostEndingWith(overlap, before, first);
  }
  return ending.empty() ? 0 : *std::max_element(ending.begin(), ending.end());
}

}  // namespace fgnn
