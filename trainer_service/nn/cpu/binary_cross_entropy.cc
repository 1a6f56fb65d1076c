#include <algorithm>
#include <cmath>

#include "trainer_service/compute/target_clones.h"
#include "trainer_service/nn/cpu/seed_losses.h"
#include "trainer_service/nn/exp_of_negative.h"

namespace fgnn {
namespace {

// Logits whose terms are kept side by side, so that loops are of vectors.
constexpr int64_t kLanes = 64;
// Factors in [1, 2] whose product does not overflow.
constexpr int64_t kFactors = 512;

}  // namespace

FGNN_TARGET_CLONES
double BinaryCrossEntropyWithGradient(const float* __restrict targets,
                                      int64_t count, float scale,
                                      float* __restrict logits) {
  float decays[kLanes];
  double linear[kLanes] = {};
  double products[kLanes];
  std::fill_n(products, kLanes, 1.0);
  double sum = 0;
  int64_t factors = 0;
  for (int64_t first = 0; first < count; first += kLanes) {
    const int64_t lanes = std::min(kLanes, count - first);
    const float* const t = targets + first;
    float* const x = logits + first;
    for (int64_t i = 0; i < lanes; ++i) {
      decays[i] = ExpOfNegative(-std::fabs(x[i]));
    }
    for (int64_t i = 0; i < lanes; ++i) {
      const double logit = double{x[i]};
      linear[i] += (logit > 0 ? logit : 0.0) - logit * double{t[i]};
      products[i] *= 1.0 + double{decays[i]};
    }
    for (int64_t i = 0; i < lanes; ++i) {
      const float share = (x[i] > 0 ? 1.0F : decays[i]) / (1.0F + decays[i]);
      x[i] = scale * (share - t[i]);
    }
    if (++factors < kFactors) continue;
    factors = 0;
    for (double& product : products) {
      sum += std::log(product);
      product = 1;
    }
  }
  for (int64_t i = 0; i < kLanes; ++i) {
    sum += linear[i] + std::log(products[i]);
  }
  return sum;
}

}  // namespace fgnn
