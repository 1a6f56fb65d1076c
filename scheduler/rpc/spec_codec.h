// Job specs as the job store and the daemons take them.
#ifndef FGNN_SCHEDULER_RPC_SPEC_CODEC_H_
#define FGNN_SCHEDULER_RPC_SPEC_CODEC_H_

#include <string>

#include "absl/status/statusor.h"
#include "scheduler/order/device_demand.h"
#include "scheduler/store/job.h"

namespace fgnn {

// A SpecDecoder (store/job.h): of a serialised, effective fgnn.v1.JobSpec.
absl::StatusOr<DecodedSpec> DecodeSpec(const Job& job);

// A DemandReader (order/device_demand.h) of the same bytes.
absl::StatusOr<DeviceDemand> ReadDemand(const std::string& spec_bytes);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_SPEC_CODEC_H_
