#include "sampler_service/sampling/cpu/draws/draw_lanes.h"

namespace fgnn {

std::vector<LaneFunctions> SupportedDrawLanes() {
  std::vector<LaneFunctions> supported;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    supported.push_back(kLanesAvx512);
  }
  if (__builtin_cpu_supports("avx2")) {
    supported.push_back(kLanesAvx2);
  }
#endif
  supported.push_back(kLanesPortable);
  return supported;
}

}  // namespace fgnn
