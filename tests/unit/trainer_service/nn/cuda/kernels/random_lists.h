// Lists of rows and numbers for tests of kernels.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_CUDA_KERNELS_RANDOM_LISTS_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_CUDA_KERNELS_RANDOM_LISTS_H_

#include <cstdint>
#include <random>
#include <vector>

#include "trainer_service/compute/numbers.h"

namespace fgnn {

struct Lists {
  std::vector<uint32_t> indptr = {0};
  std::vector<uint32_t> indices;

  uint32_t size() const { return static_cast<uint32_t>(indptr.size() - 1); }
  uint32_t entries() const { return static_cast<uint32_t>(indices.size()); }
};

// Lists of these sizes; rows are below `rows`.
inline Lists RandomLists(const std::vector<uint32_t>& sizes, uint32_t rows,
                         uint64_t seed) {
  std::mt19937_64 random(seed);
  Lists lists;
  for (const uint32_t size : sizes) {
    for (uint32_t e = 0; e < size; ++e) {
      lists.indices.push_back(static_cast<uint32_t>(random() % rows));
    }
    lists.indptr.push_back(lists.entries());
  }
  return lists;
}

// `count` sizes of up to `most`, many of them 0.
inline std::vector<uint32_t> RandomSizes(uint32_t count, uint32_t most,
                                         uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> sizes(count);
  for (uint32_t& size : sizes) {
    size = random() % 4 == 0 ? 0 : static_cast<uint32_t>(random() % (most + 1));
  }
  return sizes;
}

// Numbers in [-1, 1]; a few are 0 or -0.
inline std::vector<float> RandomFloats(uint64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> numbers(count);
  for (float& number : numbers) {
    const uint64_t bits = random();
    number =
        static_cast<float>(static_cast<int64_t>(bits >> 11)) * 0x1p-52F - 1;
    if (bits % 16 == 0) number = bits % 32 == 0 ? 0.0F : -0.0F;
  }
  return numbers;
}

inline std::vector<Bfloat16> Rounded(const std::vector<float>& numbers) {
  std::vector<Bfloat16> rounded;
  for (const float number : numbers) {
    rounded.push_back(RoundToBfloat16(number));
  }
  return rounded;
}
inline std::vector<float> Widened(const std::vector<Bfloat16>& numbers) {
  std::vector<float> widened;
  for (const Bfloat16 number : numbers) widened.push_back(Widen(number));
  return widened;
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_CUDA_KERNELS_RANDOM_LISTS_H_
