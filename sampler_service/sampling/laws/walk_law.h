// Steps of random walks, for hosts and devices. The law is in
// sampling/cpu/walk_hops.h.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_LAWS_WALK_LAW_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_LAWS_WALK_LAW_H_

#include <cstdint>

#include "shared/base/host_device.h"
#include "shared/base/philox.h"

namespace fgnn {

// Random bits of a step.
struct WalkStep {
  uint64_t draw;  // Chooses the neighbour.
  uint32_t die;   // The walk ends before the step if it is below the limit.
};

// Returns the step with number walk * length + step of the walks from `start`.
FGNN_HOST_DEVICE constexpr WalkStep StepOfWalk(PhiloxKey key, uint32_t start,
                                               uint32_t number) {
  const PhiloxBlock block = Philox4x32({start, number, 0, 0}, key);
  return {uint64_t{block.words[1]} << 32 | block.words[0], block.words[2]};
}

// Returns what dice that end a walk are below; restart is in [0, 1).
FGNN_HOST_DEVICE constexpr uint64_t WalkEndLimit(double restart) {
  return static_cast<uint64_t>(restart * 0x1p32);
}

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_LAWS_WALK_LAW_H_
