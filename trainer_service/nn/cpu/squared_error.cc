#include "trainer_service/compute/target_clones.h"
#include "trainer_service/nn/cpu/seed_losses.h"

namespace fgnn {
namespace {

// Sums that are kept side by side, so that the loop is one of vectors.
constexpr int64_t kLanes = 16;

}  // namespace

FGNN_TARGET_CLONES
double SquaredErrorWithGradient(const float* __restrict targets, int64_t count,
                                float scale, float* __restrict outputs) {
  double sums[kLanes] = {};
  const float factor = 2 * scale;
  const auto add = [&](int64_t i, int64_t lane) {
    const float error = outputs[i] - targets[i];
    sums[lane] += double{error} * double{error};
    outputs[i] = error * factor;
  };
  const int64_t whole = count - count % kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) add(i + lane, lane);
  }
  for (int64_t i = whole; i < count; ++i) add(i, i - whole);
  double sum = 0;
  for (const double one : sums) sum += one;
  return sum;
}

}  // namespace fgnn
