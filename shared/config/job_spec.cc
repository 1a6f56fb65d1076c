#include "shared/config/job_spec.h"

#include "shared/device/device.h"

namespace fgnn {

uint32_t JobSpec::num_trainers() const {
  if (!takes_turns()) return trainers;
  return static_cast<uint32_t>(devices.size() -
                               DevicesThatOnlySample(devices).size());
}

}  // namespace fgnn
