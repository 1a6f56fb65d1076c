// Softmax cross-entropy and its gradient.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_CROSS_ENTROPY_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_CROSS_ENTROPY_H_

#include <cstdint>

namespace fgnn {

struct LossSum {
  double loss = 0;  // Summed over the rows.
  uint32_t num_correct = 0;
};

// logits [rows, num_classes] become the gradient of sum(loss) * scale; labels
// [rows], each in [0, num_classes). A row's prediction is its first largest
// logit. Of the weight of a row's label, the share `smoothing` is spread evenly
// over all classes (Szegedy et al., "Rethinking the Inception Architecture",
// section 7).
LossSum CrossEntropyWithGradient(const int64_t* labels, int64_t rows,
                                 int64_t num_classes, float scale,
                                 float smoothing, float* logits);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_CROSS_ENTROPY_H_
