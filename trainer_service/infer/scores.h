// Measures how well predictions fit labels and targets, beside their accuracy.
#ifndef FGNN_TRAINER_SERVICE_INFER_SCORES_H_
#define FGNN_TRAINER_SERVICE_INFER_SCORES_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/graph/target_view.h"
#include "shared/measured/scores.h"

namespace fgnn {

// Returns the scores of vertices that have one class each. The macro F1 is the
// mean of the classes' F1, 2 TP / (2 TP + FP + FN), over the classes that some
// label or prediction names; 0 if there are none. Both spans are [n], in [0,
// num_classes). The accuracy is not among them.
Scores ScoresOfClasses(absl::Span<const uint32_t> labels,
                       absl::Span<const uint32_t> predictions,
                       uint32_t num_classes);

// Returns the area under the ROC curve: how often a vertex of class 1 scores
// higher than one of class 0, where ties count half. The result is exact. Both
// spans are [n], n < 2^32, labels 0 or 1. nullopt: one of the classes is
// missing, or a score is NaN.
std::optional<double> RocAuc(absl::Span<const uint32_t> labels,
                             absl::Span<const float> scores);

// Counts of one class among sets of classes.
struct ClassCounts {
  // Number of vertices that have the class and are predicted to have it.
  uint64_t right = 0;
  // Number of sets plus number of predictions that name the class.
  uint64_t named = 0;
};

// Return F1, 2 TP / (2 TP + FP + FN), of all classes together, and its mean
// over all classes. A class that nothing names counts as 0. They are those of
// scikit-learn's f1_score() of indicators with zero_division=0.
double MicroF1(absl::Span<const ClassCounts> classes);
double MacroF1OfSets(absl::Span<const ClassCounts> classes);

// Scores of predicted numbers.
struct ValueScores {
  double mean_squared_error = 0;  // Mean over all rows and columns.
  // Means over the columns, as those of scikit-learn's
  // root_mean_squared_error(), mean_absolute_error() and r2_score(). nullopt:
  // there are fewer than two rows.
  double rmse = 0;
  double mae = 0;
  std::optional<double> r2;
};

// Compares predictions [n, columns] with the targets of n vertices, at least
// one. Targets are numbers, of f32. Adds in the vertices' order.
ValueScores ScoreValues(const TargetView& targets,
                        absl::Span<const GlobalId> vertices,
                        const float* predictions);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_SCORES_H_
