#include "trainer_service/sync/adam.h"

#include <cmath>

#include "trainer_service/compute/target_clones.h"

namespace fgnn {
namespace {

struct Factors {
  float beta1;
  float beta2;
  float one_minus_beta1;
  float one_minus_beta2;
  float step_size;           // learning rate / (1 - beta1^step)
  float inverse_root_bias2;  // 1 / sqrt(1 - beta2^step)
  float epsilon;
  float decay;  // Factor of the weight that is added to the gradient.
  float kept;   // Share of the old weight that stays.
};

FGNN_TARGET_CLONES
void Step(const Factors& f, uint64_t count, const float* __restrict gradient,
          const float* __restrict old_weights, const AdamRange& range) {
  const float* __restrict old_m = range.old_m;
  const float* __restrict old_v = range.old_v;
  float* __restrict new_weights = range.new_weights;
  float* __restrict new_m = range.new_m;
  float* __restrict new_v = range.new_v;
  for (uint64_t i = 0; i < count; ++i) {
    const float g = gradient[i] + f.decay * old_weights[i];
    const float m = f.beta1 * old_m[i] + f.one_minus_beta1 * g;
    const float v = f.beta2 * old_v[i] + f.one_minus_beta2 * g * g;
    new_m[i] = m;
    new_v[i] = v;
    const float root = __builtin_sqrtf(v) * f.inverse_root_bias2 + f.epsilon;
    new_weights[i] = f.kept * old_weights[i] - f.step_size * m / root;
  }
}

}  // namespace

void AdamStep(const AdamOptions& options, uint64_t step,
              const AdamRange& range) {
  const double number = static_cast<double>(step);
  const double bias1 = 1 - std::pow(options.beta1, number);
  const double bias2 = 1 - std::pow(options.beta2, number);
  const double decay = options.weight_decay;
  const double shrink =
      options.decoupled_decay ? options.learning_rate * decay : 0;
  const Factors factors = {
      static_cast<float>(options.beta1),
      static_cast<float>(options.beta2),
      static_cast<float>(1 - options.beta1),
      static_cast<float>(1 - options.beta2),
      static_cast<float>(options.learning_rate / bias1),
      static_cast<float>(1 / std::sqrt(bias2)),
      static_cast<float>(options.epsilon),
      static_cast<float>(options.decoupled_decay ? 0 : decay),
      static_cast<float>(1 - shrink)};
  Step(factors, range.count, range.gradient, range.old_weights, range);
}

}  // namespace fgnn
