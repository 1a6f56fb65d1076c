// What a client asks for in SubmitJob.
#ifndef FGNN_SCHEDULER_RPC_SUBMIT_REQUEST_H_
#define FGNN_SCHEDULER_RPC_SUBMIT_REQUEST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fgnn/v1/job_service.pb.h"
#include "scheduler/jobs/job_table.h"
#include "shared/config/job_spec.h"

namespace fgnn {

struct ReadRequest {
  JobRequest request;
  JobSpec spec;  // Effective, as request.spec_bytes have it.
};

// Makes the spec effective; of a job that is resumed, that of its folder.
// `user` is the caller, `devices` are the service's. InvalidArgument names the
// field.
absl::StatusOr<ReadRequest> ReadSubmitRequest(
    const v1::SubmitJobRequest& request, const std::string& user,
    const std::vector<std::string>& devices);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_SUBMIT_REQUEST_H_
