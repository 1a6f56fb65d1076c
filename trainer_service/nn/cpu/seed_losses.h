// Losses of seeds that are learned as classes, numbers or sets of classes, and
// their gradients.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_SEED_LOSSES_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_SEED_LOSSES_H_

#include <cstdint>

#include "absl/types/span.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Returns the sum of the rows' softmax cross-entropies. Replaces logits [rows,
// num_classes] by the gradient of sum(loss) * scale. labels [rows] are each in
// [0, num_classes). A row's prediction is its first largest logit. The share
// `smoothing` of a label's weight is spread evenly over all classes (Szegedy et
// al., "Rethinking the Inception Architecture", section 7).
BatchResult CrossEntropyWithGradient(const int64_t* labels, int64_t rows,
                                     int64_t num_classes, float scale,
                                     float smoothing, float* logits);

// Returns the sum of log(1 + exp(x)) - x t over logits x and targets t in
// {0, 1}, [count] each. Replaces the logits by the gradient of this sum, times
// `scale`. No exponential overflows. The order of the sum depends on `count`
// alone.
double BinaryCrossEntropyWithGradient(const float* targets, int64_t count,
                                      float scale, float* logits);

// Returns the sum of the squared differences of outputs and targets, [count]
// each. Replaces the outputs by the gradient of this sum, times `scale`. The
// order of the sum depends on `count` alone.
double SquaredErrorWithGradient(const float* targets, int64_t count,
                                float scale, float* outputs);

// Adds up the sums in their order. Returns them with the mean loss of `terms`.
inline BatchResult MeanOf(absl::Span<const BatchResult> sums, int64_t terms) {
  BatchResult mean;
  for (const BatchResult& sum : sums) {
    mean.loss += sum.loss;
    mean.num_correct += sum.num_correct;
  }
  mean.loss /= static_cast<double>(terms);
  return mean;
}

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_SEED_LOSSES_H_
