#include "sampler_service/sampling/cpu/draw_lanes.h"

namespace fgnn {

std::vector<NamedDrawLanes> SupportedDrawLanes() {
  std::vector<NamedDrawLanes> supported;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    supported.push_back({"avx512", DrawLanesAvx512});
  }
  if (__builtin_cpu_supports("avx2")) {
    supported.push_back({"avx2", DrawLanesAvx2});
  }
#endif
  supported.push_back({"portable", DrawLanesPortable});
  return supported;
}

}  // namespace fgnn
