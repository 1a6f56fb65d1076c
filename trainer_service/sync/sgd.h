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
  // Added to the gradient as weight_decay * weight.
  double weight_decay = 0;
};

// One range of the weights, [count] each. Old and new do not overlap.
struct SgdRange {
  uint64_t count = 0;
  const float* gradient = nullptr;
  const float* old_weights = nullptr;
  float* new_weights = nullptr;
  // Zeros before the first step. Not looked at without momentum.
  const float* old_direction = nullptr;
  float* new_direction = nullptr;
};

// direction = momentum * old direction + gradient, weights -= learning rate *
// direction. Weight by weight, so that ranges may be cut anywhere and done by
// any thread.
void SgdStep(const SgdOptions& options, const SgdRange& range);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_SGD_H_
