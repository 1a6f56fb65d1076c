// The dice of LABOR, for hosts and devices. The law is in
// sampling/cpu/labor_hops.h.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_LAWS_LABOR_LAW_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_LAWS_LABOR_LAW_H_

#include <cstdint>

#include "shared/base/host_device.h"
#include "shared/base/philox.h"

namespace fgnn {

// Returns what the die of a neighbour has to be below; fanout < degree.
FGNN_HOST_DEVICE constexpr uint32_t LaborLimit(uint64_t fanout,
                                               uint64_t degree) {
  return static_cast<uint32_t>((fanout << 32) / degree);
}

// Returns the die of source vertex u under a hop's key.
FGNN_HOST_DEVICE constexpr uint32_t LaborDie(PhiloxKey key, uint32_t u) {
  return Philox4x32({u, 0, 0, 0}, key).words[0];
}

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_LAWS_LABOR_LAW_H_
