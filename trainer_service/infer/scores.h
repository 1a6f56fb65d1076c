// Measures how well predictions fit labels, beside their accuracy.
#ifndef FGNN_TRAINER_SERVICE_INFER_SCORES_H_
#define FGNN_TRAINER_SERVICE_INFER_SCORES_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"

namespace fgnn {

// Returns the mean of the classes' F1, 2 TP / (2 TP + FP + FN), over the
// classes that some label or prediction names; 0 if there are none. Both spans
// are [n], in [0, num_classes).
double MacroF1(absl::Span<const uint32_t> labels,
               absl::Span<const uint32_t> predictions, uint32_t num_classes);

// Returns the area under the ROC curve: how often a vertex of class 1 scores
// higher than one of class 0, where ties count half. The result is exact. Both
// spans are [n], n < 2^32, labels 0 or 1. nullopt: one of the classes is
// missing, or a score is NaN.
std::optional<double> RocAuc(absl::Span<const uint32_t> labels,
                             absl::Span<const float> scores);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_SCORES_H_
