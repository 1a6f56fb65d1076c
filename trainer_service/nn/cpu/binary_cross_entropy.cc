#include "trainer_service/nn/cpu/binary_cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "trainer_service/compute/target_clones.h"
#include "trainer_service/nn/cpu/kernels/exp_of_negative.h"

namespace fgnn {
namespace {

// Sums that are kept side by side, so that the loop is one of vectors.
constexpr int64_t kLanes = 16;
// Factors in [1, 2] whose product does not overflow.
constexpr int64_t kFactors = 512;

// Sums of one block of logits.
struct Lanes {
  double linear[kLanes] = {};
  // log(1 + a) + log(1 + b) = log((1 + a) (1 + b)): one logarithm for many
  // logits.
  double product[kLanes];
};

// log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|))
inline __attribute__((always_inline)) float AddTerm(float logit, float target,
                                                    int64_t lane,
                                                    Lanes& lanes) {
  const float decay = ExpOfNegative(-std::fabs(logit));
  const double above = logit > 0 ? double{logit} : 0.0;
  lanes.linear[lane] += above - double{logit} * double{target};
  lanes.product[lane] *= 1.0 + double{decay};
  const float share = (logit > 0 ? 1.0F : decay) / (1.0F + decay);
  return share - target;
}

}  // namespace

FGNN_TARGET_CLONES
double BinaryCrossEntropyWithGradient(const float* __restrict targets,
                                      int64_t count, float scale,
                                      float* __restrict logits) {
  double sum = 0;
  for (int64_t first = 0; first < count; first += kLanes * kFactors) {
    const int64_t last = std::min(count, first + kLanes * kFactors);
    const int64_t whole = last - (last - first) % kLanes;
    Lanes lanes;
    std::fill_n(lanes.product, kLanes, 1.0);
    for (int64_t i = first; i < whole; i += kLanes) {
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        logits[i + lane] =
            scale * AddTerm(logits[i + lane], targets[i + lane], lane, lanes);
      }
    }
    for (int64_t i = whole; i < last; ++i) {
      logits[i] = scale * AddTerm(logits[i], targets[i], i - whole, lanes);
    }
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      sum += lanes.linear[lane] + std::log(lanes.product[lane]);
    }
  }
  return sum;
}

}  // namespace fgnn
