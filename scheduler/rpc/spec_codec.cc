#include "scheduler/rpc/spec_codec.h"

#include "absl/status/status.h"
#include "fgnn/v1/job.pb.h"
#include "shared/config/job_spec_proto.h"

namespace fgnn {

absl::StatusOr<DecodedSpec> DecodeSpec(const std::string& spec_bytes) {
  v1::JobSpec spec;
  if (!spec.ParseFromString(spec_bytes)) {
    return absl::DataLossError(
        "the job store holds a job whose spec cannot be read; submit it again");
  }
  return DecodedSpec{.spec = FromProto(spec),
                     .yaml = ToYaml(spec, /*with_help=*/false)};
}

}  // namespace fgnn
