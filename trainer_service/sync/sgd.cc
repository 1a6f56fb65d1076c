#include "trainer_service/sync/sgd.h"

#include "trainer_service/compute/target_clones.h"

namespace fgnn {
namespace {

struct Factors {
  float learning_rate;
  float momentum;
  float decay;
};

FGNN_TARGET_CLONES
void PlainStep(const Factors& f, const SgdRange& range) {
  const float* __restrict gradient = range.gradient;
  const float* __restrict old_weights = range.old_weights;
  float* __restrict new_weights = range.new_weights;
  for (uint64_t i = 0; i < range.count; ++i) {
    const float g = gradient[i] + f.decay * old_weights[i];
    new_weights[i] = old_weights[i] - f.learning_rate * g;
  }
}

FGNN_TARGET_CLONES
void MomentumStep(const Factors& f, const SgdRange& range) {
  const float* __restrict gradient = range.gradient;
  const float* __restrict old_weights = range.old_weights;
  const float* __restrict old_direction = range.old_direction;
  float* __restrict new_weights = range.new_weights;
  float* __restrict new_direction = range.new_direction;
  for (uint64_t i = 0; i < range.count; ++i) {
    const float g = gradient[i] + f.decay * old_weights[i];
    const float direction = f.momentum * old_direction[i] + g;
    new_direction[i] = direction;
    new_weights[i] = old_weights[i] - f.learning_rate * direction;
  }
}

}  // namespace

void SgdStep(const SgdOptions& options, const SgdRange& range) {
  const Factors factors = {static_cast<float>(options.learning_rate),
                           static_cast<float>(options.momentum),
                           static_cast<float>(options.weight_decay)};
  if (options.momentum > 0) {
    MomentumStep(factors, range);
  } else {
    PlainStep(factors, range);
  }
}

}  // namespace fgnn
