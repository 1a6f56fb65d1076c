// Softmax cross-entropy and its gradient.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_CROSS_ENTROPY_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_CROSS_ENTROPY_H_

#include <cstdint>

namespace fgnn {

struct LossSum {
  double loss = 0;  // Sum over the rows.
  uint32_t num_correct = 0;
};

// Replaces logits [rows, num_classes] by the gradient of sum(loss) * scale.
// labels [rows] are each in [0, num_classes). A row's prediction is its first
// largest logit. The share `smoothing` of a label's weight is spread evenly
// over all classes (Szegedy et al., "Rethinking the Inception Architecture",
// section 7).
LossSum CrossEntropyWithGradient(const int64_t* labels, int64_t rows,
                                 int64_t num_classes, float scale,
                                 float smoothing, float* logits);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_CROSS_ENTROPY_H_
