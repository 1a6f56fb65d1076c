#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_RANDOM_FLOATS_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_RANDOM_FLOATS_H_

#include <cstdint>
#include <random>
#include <vector>

namespace fgnn {

// Returns normally distributed numbers.
inline std::vector<float> NormalFloats(uint64_t count, uint64_t seed,
                                       float deviation = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_RANDOM_FLOATS_H_
