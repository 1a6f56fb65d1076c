// Reads job specs in the form that the job store and the daemons use.
#ifndef FGNN_SCHEDULER_RPC_SPEC_CODEC_H_
#define FGNN_SCHEDULER_RPC_SPEC_CODEC_H_

#include <string>

#include "absl/status/statusor.h"
#include "scheduler/order/device_demand.h"
#include "scheduler/store/job.h"

namespace fgnn {

// Decodes a job's serialised fgnn.v1.JobSpec; a SpecDecoder (store/job.h).
absl::StatusOr<DecodedSpec> DecodeSpec(const Job& job);

// Reads the devices that such bytes ask for; a DemandReader
// (order/device_demand.h).
absl::StatusOr<DeviceDemand> ReadDemand(const std::string& spec_bytes);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_SPEC_CODEC_H_
