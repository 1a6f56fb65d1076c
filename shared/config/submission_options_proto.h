// Converts the options of a submission. Messages have fields of the same names.
#ifndef FGNN_SHARED_CONFIG_SUBMISSION_OPTIONS_PROTO_H_
#define FGNN_SHARED_CONFIG_SUBMISSION_OPTIONS_PROTO_H_

#include "fgnn/v1/job_service.pb.h"
#include "shared/config/submission_options.h"

namespace fgnn {

SubmissionOptions OptionsOf(const v1::SubmitJobRequest& request);

void SetOptions(const SubmissionOptions& options,
                v1::SubmitJobRequest* request);
// Sets those that a job's message tells of: all but digest and trace.
void SetOptions(const SubmissionOptions& options, v1::Job* job);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_SUBMISSION_OPTIONS_PROTO_H_
