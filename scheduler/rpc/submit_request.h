// Reads a client's request of SubmitJob.
#ifndef FGNN_SCHEDULER_RPC_SUBMIT_REQUEST_H_
#define FGNN_SCHEDULER_RPC_SUBMIT_REQUEST_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fgnn/v1/job_service.pb.h"
#include "google/protobuf/message.h"
#include "scheduler/jobs/job_table.h"
#include "scheduler/order/host_demand.h"
#include "shared/config/job_spec.h"
#include "shared/device/device.h"

namespace fgnn {

// What a service has now.
struct ServiceNow {
  std::vector<Device> devices;  // Devices of its own host.
  std::vector<ServiceHost> hosts = {};
};

struct ReadRequest {
  JobRequest request;
  // Effective spec, with the devices that the service has now if the request
  // names none, of as many hosts as it asks for; request.spec has none then.
  JobSpec spec;
  std::vector<std::string> notes;  // Notes for the user, a line each.
};

// Checks the lengths of all texts of a client's call. InvalidArgument: the
// message names the field, its length and the limit.
absl::Status CheckLengths(const google::protobuf::Message& request);

// Reads the request, and makes its spec effective. For a job that is resumed,
// the spec is the one in its folder; before that is read, `check_resumed`
// checks the folder's canonical path. `user` is the caller. InvalidArgument: a
// field is wrong; the message names it.
absl::StatusOr<ReadRequest> ReadSubmitRequest(
    const v1::SubmitJobRequest& request, const std::string& user,
    const ServiceNow& service,
    absl::FunctionRef<absl::Status(const std::filesystem::path&)>
        check_resumed);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_SUBMIT_REQUEST_H_
