#include "trainer_service/compute/widen.h"

#include <cstring>

#include "trainer_service/compute/target_clones.h"
#include "trainer_service/compute/widen_kernels.h"

namespace fgnn {
namespace {

FGNN_TARGET_CLONES
void WidenBfloat16(const Bfloat16* from, uint64_t count, float* to) {
  for (uint64_t i = 0; i < count; ++i) to[i] = Widen(from[i]);
}

FGNN_TARGET_CLONES
void WidenFloat16(const Float16* from, uint64_t count, float* to) {
  for (uint64_t i = 0; i < count; ++i) to[i] = Widen(from[i]);
}

FGNN_TARGET_CLONES
void RoundMany(const float* from, int64_t count, Bfloat16* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = RoundToBfloat16(from[i]);
}

FGNN_TARGET_CLONES
void RoundMany(const float* from, int64_t count, Float16* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = RoundToFloat16(from[i]);
}

// `exponent`: the bits that are set in all numbers that are not finite.
FGNN_TARGET_CLONES
bool AreFinite(const uint16_t* numbers, int64_t count, uint16_t exponent) {
  bool are_finite = true;
  for (int64_t i = 0; i < count; ++i) {
    are_finite = are_finite && (numbers[i] & exponent) != exponent;
  }
  return are_finite;
}

}  // namespace

bool RoundNumbers(FeatureType type, const float* from, uint64_t count,
                  std::byte* to) {
  const auto signed_count = static_cast<int64_t>(count);
  const bool is_half = type == FeatureType::kFloat16;
  if (is_half) {
    RoundMany(from, signed_count, reinterpret_cast<Float16*>(to));
  } else {
    RoundToBfloat16s(from, signed_count, reinterpret_cast<Bfloat16*>(to));
  }
  return AreFinite(reinterpret_cast<const uint16_t*>(to), signed_count,
                   is_half ? 0x7c00 : 0x7f80);
}

void RoundToBfloat16s(const float* from, int64_t count, Bfloat16* to) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw")) {
    const int64_t many = count / kRoundedAtOnce * kRoundedAtOnce;
    RoundManyAvx512(from, many, to);
    from += many;
    count -= many;
    to += many;
  }
#endif
  RoundMany(from, count, to);
}

void WidenToFloats(FeatureType type, const std::byte* from, uint64_t count,
                   float* to) {
  switch (type) {
    case FeatureType::kFloat32:
      std::memcpy(to, from, count * sizeof(float));
      return;
    case FeatureType::kFloat16:
      WidenFloat16(reinterpret_cast<const Float16*>(from), count, to);
      return;
    case FeatureType::kBfloat16:
      WidenBfloat16(reinterpret_cast<const Bfloat16*>(from), count, to);
      return;
  }
}

}  // namespace fgnn
