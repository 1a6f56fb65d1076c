// TF32 as the fake libraries of products round to it.
#ifndef FGNN_TESTS_FAKES_CUDA_TF32_H_
#define FGNN_TESTS_FAKES_CUDA_TF32_H_

#include <bit>
#include <cmath>
#include <cstdint>

namespace fgnn::simt {

// Returns the nearest number with 10 bits behind the point, the larger one of
// two. Infinities and NaN stay what they are.
inline float RoundToTf32(float number) {
  if (!std::isfinite(number)) return number;
  constexpr uint32_t kDropped = 0x1fffu;
  const auto bits = std::bit_cast<uint32_t>(number) + (kDropped + 1) / 2;
  return std::bit_cast<float>(bits & ~kDropped);
}

}  // namespace fgnn::simt

#endif  // FGNN_TESTS_FAKES_CUDA_TF32_H_
