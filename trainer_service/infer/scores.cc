#include "trainer_service/infer/scores.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace fgnn {
namespace {

double F1(const ClassCounts& counts) {
  return counts.named == 0 ? 0
                           : static_cast<double>(2 * counts.right) /
                                 static_cast<double>(counts.named);
}

// Sums of a column over vertices.
struct ColumnSums {
  double squares = 0;  // Squared errors.
  double errors = 0;   // Absolute errors.
  double targets = 0;
  double spread = 0;  // Squared distances of the targets from their mean.
};

// Returns R2. If all targets are the same, it is 1 without errors, else 0.
double R2(const ColumnSums& sums) {
  if (sums.spread > 0) return 1 - sums.squares / sums.spread;
  return sums.squares > 0 ? 0 : 1;
}

}  // namespace

Scores ScoresOfClasses(absl::Span<const uint32_t> labels,
                       absl::Span<const uint32_t> predictions,
                       uint32_t num_classes) {
  std::vector<ClassCounts> classes(num_classes);
  for (size_t i = 0; i < labels.size(); ++i) {
    ClassCounts& wanted = classes[labels[i]];
    wanted.right += labels[i] == predictions[i] ? 1 : 0;
    ++wanted.named;
    ++classes[predictions[i]].named;
  }
  double sum = 0;
  uint64_t count = 0;
  for (const ClassCounts& one : classes) {
    sum += F1(one);
    count += one.named > 0 ? 1 : 0;
  }
  return {.macro_f1 = count == 0 ? 0 : sum / static_cast<double>(count)};
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

double MicroF1(absl::Span<const ClassCounts> classes) {
  ClassCounts all;
  for (const ClassCounts& one : classes) {
    all.right += one.right;
    all.named += one.named;
  }
  return F1(all);
}

double MacroF1OfSets(absl::Span<const ClassCounts> classes) {
  double sum = 0;
  for (const ClassCounts& one : classes) sum += F1(one);
  return classes.empty() ? 0 : sum / static_cast<double>(classes.size());
}

ValueScores ScoreValues(const TargetView& targets,
                        absl::Span<const GlobalId> vertices,
                        const float* predictions) {
  const size_t columns = targets.columns;
  std::vector<ColumnSums> sums(columns);
  std::vector<float> wanted(columns);
  const float* predicted = predictions;
  for (const GlobalId v : vertices) {
    targets.Read(v, wanted.data());
    for (size_t c = 0; c < columns; ++c) {
      const double error = double{predicted[c]} - double{wanted[c]};
      sums[c].squares += error * error;
      sums[c].errors += std::abs(error);
      sums[c].targets += double{wanted[c]};
    }
    predicted += columns;
  }
  const auto count = static_cast<double>(vertices.size());
  for (const GlobalId v : vertices) {
    targets.Read(v, wanted.data());
    for (size_t c = 0; c < columns; ++c) {
      const double off = double{wanted[c]} - sums[c].targets / count;
      sums[c].spread += off * off;
    }
  }
  ValueScores scores;
  double r2 = 0;
  for (const ColumnSums& sum : sums) {
    scores.mean_squared_error += sum.squares / count;
    scores.rmse += std::sqrt(sum.squares / count);
    scores.mae += sum.errors / count;
    r2 += R2(sum);
  }
  const auto num_columns = static_cast<double>(columns);
  scores.mean_squared_error /= num_columns;
  scores.rmse /= num_columns;
  scores.mae /= num_columns;
  if (vertices.size() >= 2) scores.r2 = r2 / num_columns;
  return scores;
}

}  // namespace fgnn
