// What a client asks for in SubmitJob, and who it says it is.
#ifndef FGNN_SCHEDULER_RPC_SUBMIT_REQUEST_H_
#define FGNN_SCHEDULER_RPC_SUBMIT_REQUEST_H_

#include <grpcpp/server_context.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fgnn/v1/job_service.pb.h"
#include "scheduler/jobs/job_table.h"
#include "shared/config/job_spec.h"

namespace fgnn {

// The metadata `fgnn-user` of the call; empty: it names nobody.
// InvalidArgument: a name that is none.
absl::StatusOr<std::string> CallerOf(const grpc::ServerContext& context);

// Whether the caller may change `job`: its user, root, and `service_user`.
// PermissionDenied: it is another user's.
absl::Status CheckMayChange(const grpc::ServerContext& context, const Job& job,
                            const std::string& service_user);

struct ReadRequest {
  JobRequest request;
  JobSpec spec;  // Effective, as request.spec_bytes have it.
};

// Makes the spec effective; of a job that is resumed, that of its folder.
// `devices` are those of the service. InvalidArgument names the field.
absl::StatusOr<ReadRequest> ReadSubmitRequest(
    const v1::SubmitJobRequest& request, const std::string& user,
    const std::vector<std::string>& devices);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_SUBMIT_REQUEST_H_
