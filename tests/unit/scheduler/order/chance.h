// Numbers for random cases. A seed always gives the same numbers.
#ifndef FGNN_TESTS_UNIT_SCHEDULER_ORDER_CHANCE_H_
#define FGNN_TESTS_UNIT_SCHEDULER_ORDER_CHANCE_H_

#include <cstdint>

#include "shared/base/philox.h"

namespace fgnn {

class Chance {
 public:
  explicit Chance(uint64_t seed) : key_{static_cast<uint32_t>(seed), 8} {}
  // Returns a number in [0, below).
  uint32_t Below(uint32_t below) {
    return Philox4x32({++draws_, 0, 0, 0}, key_).words[0] % below;
  }
  bool OneIn(uint32_t number) { return Below(number) == 0; }

 private:
  const PhiloxKey key_;
  uint32_t draws_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SCHEDULER_ORDER_CHANCE_H_
