#include "trainer_service/infer/scores.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace fgnn {

double MacroF1(absl::Span<const uint32_t> labels,
               absl::Span<const uint32_t> predictions, uint32_t num_classes) {
  struct Counts {
    uint64_t right = 0;
    // Number of labels plus number of predictions that name the class.
    uint64_t named = 0;
  };
  std::vector<Counts> classes(num_classes);
  for (size_t i = 0; i < labels.size(); ++i) {
    Counts& wanted = classes[labels[i]];
    wanted.right += labels[i] == predictions[i] ? 1 : 0;
    ++wanted.named;
    ++classes[predictions[i]].named;
  }
  double sum = 0;
  uint64_t count = 0;
  for (const Counts& one : classes) {
    if (one.named == 0) continue;
    sum += static_cast<double>(2 * one.right) / static_cast<double>(one.named);
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

std::optional<double> RocAuc(absl::Span<const uint32_t> labels,
                             absl::Span<const float> scores) {
  // NaN has no place in an order.
  const bool any_nan =
      std::any_of(scores.begin(), scores.end(),
                  [](float score) { return std::isnan(score); });
  if (any_nan) return std::nullopt;
  std::vector<uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), uint32_t{0});
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return scores[a] < scores[b]; });
  // Ranks from 1; those of a tie are their mean. They are doubled to stay
  // integers.
  uint64_t positives = 0;
  uint64_t doubled_ranks = 0;  // Sum of the positives' doubled ranks.
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    uint64_t tied_positives = 0;
    while (end < order.size() && scores[order[end]] == scores[order[begin]]) {
      tied_positives += labels[order[end]] == 1 ? 1 : 0;
      ++end;
    }
    positives += tied_positives;
    doubled_ranks += tied_positives * (begin + 1 + end);
  }
  const uint64_t negatives = order.size() - positives;
  if (positives == 0 || negatives == 0) return std::nullopt;
  const uint64_t doubled_wins = doubled_ranks - positives * (positives + 1);
  return static_cast<double>(doubled_wins) / 2 /
         (static_cast<double>(positives) * static_cast<double>(negatives));
}

}  // namespace fgnn
