#include "trainer_service/compute/dot_product.h"

#include "trainer_service/compute/target_clones.h"

namespace fgnn {

// Sixteen independent sums, one per place modulo sixteen, which vector
// instructions can compute.
FGNN_TARGET_CLONES
float DotProduct(const float* __restrict a, const float* __restrict b,
                 int64_t columns) {
  constexpr int64_t kChains = 16;
  float sums[kChains] = {};
  int64_t i = 0;
  for (; i + kChains <= columns; i += kChains) {
    for (int64_t chain = 0; chain < kChains; ++chain) {
      sums[chain] += a[i + chain] * b[i + chain];
    }
  }
  for (; i < columns; ++i) sums[i % kChains] += a[i] * b[i];
  float sum = 0;
  for (const float of_chain : sums) sum += of_chain;
  return sum;
}

}  // namespace fgnn
