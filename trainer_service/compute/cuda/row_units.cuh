// Units of rows: what one thread loads at once. A unit has 16 bytes, or as many
// as the alignment of the rows allows.
#ifndef FGNN_TRAINER_SERVICE_COMPUTE_CUDA_ROW_UNITS_CUH_
#define FGNN_TRAINER_SERVICE_COMPUTE_CUDA_ROW_UNITS_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "trainer_service/compute/numbers.h"

namespace fgnn {

// The bits of a unit of 2, 4, 8 or 16 bytes.
template <int kBytes>
struct UnitBits {
  uint32_t words[kBytes <= 4 ? 1 : kBytes / 4] = {};
};

// Numbers of a unit.
template <typename Number, int kBytes>
inline constexpr int kUnitNumbers = kBytes / static_cast<int>(sizeof(Number));

// `from` is a multiple of kBytes.
template <int kBytes>
__device__ __forceinline__ UnitBits<kBytes> LoadUnit(const void* from) {
  if constexpr (kBytes == 16) {
    const uint4 words = __ldg(static_cast<const uint4*>(from));
    return {{words.x, words.y, words.z, words.w}};
  } else if constexpr (kBytes == 8) {
    const uint2 words = __ldg(static_cast<const uint2*>(from));
    return {{words.x, words.y}};
  } else if constexpr (kBytes == 4) {
    return {{__ldg(static_cast<const uint32_t*>(from))}};
  } else {
    static_assert(kBytes == 2);
    return {{__ldg(static_cast<const uint16_t*>(from))}};
  }
}

// Returns number i of a unit. i is a constant wherever this is unrolled, so
// that no register is indexed.
template <typename Number, int kBytes>
__device__ __forceinline__ float NumberOf(const UnitBits<kBytes>& unit, int i) {
  if constexpr (std::is_same_v<Number, float>) {
    return Widen(__uint_as_float(unit.words[i]));
  } else {
    const uint32_t word = unit.words[i / 2];
    return Widen(Number{
        static_cast<uint16_t>(i % 2 == 0 ? word & 0xffffu : word >> 16)});
  }
}

// Stores kCount floats, in as few stores as there can be. `to` is a multiple of
// kCount floats, or of 16 bytes.
template <int kCount>
__device__ __forceinline__ void StoreFloats(const float (&numbers)[kCount],
                                            float* to) {
  if constexpr (kCount >= 4) {
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      *reinterpret_cast<float4*>(to + i) = {numbers[i], numbers[i + 1],
                                            numbers[i + 2], numbers[i + 3]};
    }
  } else if constexpr (kCount == 2) {
    *reinterpret_cast<float2*>(to) = {numbers[0], numbers[1]};
  } else {
    *to = numbers[0];
  }
}

__device__ __forceinline__ uint32_t RoundedPair(float low, float high) {
  return RoundToBfloat16(low).bits | uint32_t{RoundToBfloat16(high).bits} << 16;
}

// The same, rounded. `to` is a multiple of kCount numbers.
template <int kCount>
__device__ __forceinline__ void StoreFloats(const float (&numbers)[kCount],
                                            Bfloat16* to) {
  if constexpr (kCount == 8) {
    *reinterpret_cast<uint4*>(to) = {RoundedPair(numbers[0], numbers[1]),
                                     RoundedPair(numbers[2], numbers[3]),
                                     RoundedPair(numbers[4], numbers[5]),
                                     RoundedPair(numbers[6], numbers[7])};
  } else if constexpr (kCount == 4) {
    *reinterpret_cast<uint2*>(to) = {RoundedPair(numbers[0], numbers[1]),
                                     RoundedPair(numbers[2], numbers[3])};
  } else if constexpr (kCount == 2) {
    *reinterpret_cast<uint32_t*>(to) = RoundedPair(numbers[0], numbers[1]);
  } else {
    *to = RoundToBfloat16(numbers[0]);
  }
}

// Returns the bytes of a unit of rows that lie one after the other from each of
// these addresses on. Null is no address.
inline int UnitBytes(uint64_t row_bytes,
                     std::initializer_list<const void*> addresses) {
  uint64_t bits = row_bytes | 16;
  for (const void* address : addresses) {
    bits |= reinterpret_cast<uintptr_t>(address);
  }
  return static_cast<int>(bits & (~bits + 1));
}

// Returns the base-2 logarithm of the number of a warp's lanes that share a row
// of so many units: the fewest that take it at once, or all 32.
inline uint32_t LanesLog2(uint64_t units) {
  uint32_t log2 = 0;
  while (log2 < 5 && (uint64_t{1} << log2) < units) ++log2;
  return log2;
}

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMPUTE_CUDA_ROW_UNITS_CUH_
