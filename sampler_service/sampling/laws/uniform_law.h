// Uniform draws of places, for hosts and devices. The law is in
// sampling/cpu/uniform_hops.h.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_LAWS_UNIFORM_LAW_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_LAWS_UNIFORM_LAW_H_

#include <cstdint>

#include "shared/base/host_device.h"
#include "shared/base/philox.h"

namespace fgnn {

// Returns the place that draw j of Floyd's algorithm chooses, before it is
// compared with earlier places. fanout < degree, j < fanout.
FGNN_HOST_DEVICE constexpr uint64_t FloydDraw(PhiloxHalves& draws,
                                              uint64_t degree, uint32_t fanout,
                                              uint32_t j) {
  return UniformBelow(draws.Get(j), degree - fanout + j + 1);
}

// Returns the place that draw j takes if an earlier draw has its place. Every
// earlier place is below it.
FGNN_HOST_DEVICE constexpr uint64_t FloydReplacement(uint64_t degree,
                                                     uint32_t fanout,
                                                     uint32_t j) {
  return degree - fanout + j;
}

// Returns the place of draw j where places may repeat; degree >= 1.
FGNN_HOST_DEVICE constexpr uint64_t AnyPlace(PhiloxHalves& draws,
                                             uint64_t degree, uint32_t j) {
  return UniformBelow(draws.Get(j), degree);
}

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_LAWS_UNIFORM_LAW_H_
