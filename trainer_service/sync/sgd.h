// Stochastic gradient descent with momentum as a pure function of one range of
// weights.
#ifndef FGNN_TRAINER_SERVICE_SYNC_SGD_H_
#define FGNN_TRAINER_SERVICE_SYNC_SGD_H_

#include <cstdint>

namespace fgnn {

struct SgdOptions {
  double learning_rate = 0.001;
  // Share of the old direction in the new one, [0, 1).
  double momentum = 0;
  // Factor of the weight that is added to the gradient.
  double weight_decay = 0;
};

// One range of the weights, [count] each. Old and new do not overlap.
struct SgdRange {
  uint64_t count = 0;
  const float* gradient = nullptr;
  const float* old_weights = nullptr;
  float* new_weights = nullptr;
  // Direction of the last step; zeros before the first step. Not read or
  // written without momentum.
  const float* old_direction = nullptr;
  float* new_direction = nullptr;
};

// Makes a step of one range: direction = momentum * old direction + gradient,
// weights -= learning rate * direction. Each weight is computed alone. So
// ranges may be cut anywhere, and any thread may compute a range.
void SgdStep(const SgdOptions& options, const SgdRange& range);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_SGD_H_
