// What every back end adds to a variance before it divides by its root.
#ifndef FGNN_TRAINER_SERVICE_NN_NORM_EPSILON_H_
#define FGNN_TRAINER_SERVICE_NN_NORM_EPSILON_H_

namespace fgnn {

inline constexpr float kNormEpsilon = 1e-5F;

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_NORM_EPSILON_H_
