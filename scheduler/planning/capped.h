// Sums and products of unchecked sizes, capped at 2^64 - 1.
#ifndef FGNN_SCHEDULER_PLANNING_CAPPED_H_
#define FGNN_SCHEDULER_PLANNING_CAPPED_H_

#include <cstdint>

namespace fgnn {

inline uint64_t MultiplyCapped(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

inline uint64_t AddCapped(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_CAPPED_H_
