// Binary cross-entropy of logits, each of which tells whether a class is in a
// set, and its gradient.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_BINARY_CROSS_ENTROPY_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_BINARY_CROSS_ENTROPY_H_

#include <cstdint>

namespace fgnn {

// Returns the sum of log(1 + exp(x)) - x t over logits x and targets t in
// {0, 1}, [count] each. Replaces the logits by the gradient of this sum, times
// `scale`. No exponential overflows. The order of the sum depends on `count`
// alone.
double BinaryCrossEntropyWithGradient(const float* targets, int64_t count,
                                      float scale, float* logits);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_BINARY_CROSS_ENTROPY_H_
