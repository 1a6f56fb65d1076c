#include "scheduler/rpc/spec_codec.h"

#include "absl/status/status.h"
#include "fgnn/v1/job.pb.h"
#include "shared/base/status.h"
#include "shared/config/job_spec_proto.h"

namespace fgnn {
namespace {

absl::StatusOr<v1::JobSpec> Parse(const std::string& spec_bytes) {
  v1::JobSpec spec;
  if (spec.ParseFromString(spec_bytes)) return spec;
  return absl::DataLossError(
      "the job store holds a job whose spec cannot be read; submit it again");
}

}  // namespace

absl::StatusOr<DecodedSpec> DecodeSpec(const Job& job) {
  FGNN_ASSIGN_OR_RETURN(const v1::JobSpec spec, Parse(job.spec_bytes));
  DecodedSpec decoded;
  decoded.yaml = ToYaml(spec, /*with_help=*/false);
  decoded.spec = FromProto(spec);
  if (!job.devices.empty()) decoded.spec.devices = job.devices;
  return decoded;
}

absl::StatusOr<DeviceDemand> ReadDemand(const std::string& spec_bytes) {
  FGNN_ASSIGN_OR_RETURN(const v1::JobSpec spec, Parse(spec_bytes));
  if (!spec.has_device_request()) {
    return DeviceDemand{
        .names = {spec.devices().begin(), spec.devices().end()}};
  }
  return DeviceDemand{.kind = spec.device_request().kind(),
                      .min = spec.device_request().min(),
                      .max = spec.device_request().max()};
}

}  // namespace fgnn
