// Squared errors of predicted numbers, and their gradient.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_SQUARED_ERROR_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_SQUARED_ERROR_H_

#include <cstdint>

namespace fgnn {

// Returns the sum of the squared differences of outputs and targets, [count]
// each. Replaces the outputs by the gradient of this sum, times `scale`. The
// order of the sum depends on `count` alone.
double SquaredErrorWithGradient(const float* targets, int64_t count,
                                float scale, float* outputs);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_SQUARED_ERROR_H_
