// How fast the hosts of a job are, and their shares of a step by that. Pure
// functions.
#ifndef FGNN_SCHEDULER_TIMES_HOST_SPEED_H_
#define FGNN_SCHEDULER_TIMES_HOST_SPEED_H_

#include <cstdint>
#include <vector>

#include "scheduler/times/device_times.h"
#include "shared/config/job_hosts.h"
#include "shared/config/job_spec.h"

namespace fgnn {

// Returns the batches that the devices of the spec, which are those of one
// host, sample and train in a second if none of them ever waits; 0: not known.
double BatchesPerSecond(const JobSpec& spec, const TimesByKind& profiled);

// Sets the hosts' places. Each host gets one of the `places` of a step as long
// as there are some, and each further place goes to the host that is done with
// it first: no other shares end a step earlier. If a speed is not known, the
// devices that train count in the place of all speeds.
void ShareBySpeed(uint64_t places, std::vector<HostShare>& hosts);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_TIMES_HOST_SPEED_H_
