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

}  // namespace

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
