// Follows a job until it ends and says how it went.
#ifndef FGNN_TOOLS_FGNN_SERVICE_FOLLOW_H_
#define FGNN_TOOLS_FGNN_SERVICE_FOLLOW_H_

#include "absl/status/statusor.h"
#include "fgnn/v1/job_service.pb.h"
#include "tools/fgnn/command_context.h"
#include "tools/fgnn/service/interrupt.h"
#include "tools/fgnn/service/service_client.h"

namespace fgnn {

// Shows the job's progress on stdout until it has ended, then its summary: the
// stage table, test accuracy and where the results are (with --json one last
// line {"type": "summary", …}). Returns the job as it ended.
// Ctrl-C stops following, not the job: Cancelled, after saying on stderr how to
// watch and how to cancel.
absl::StatusOr<v1::Job> FollowJob(const CommandContext& context,
                                  ServiceClient& client, const v1::Job& job,
                                  Interrupt& interrupt);

// The command's answer for a job that was followed: OK, its error, or exit code
// 130 after Ctrl-C.
void AnswerWithJob(const absl::StatusOr<v1::Job>& job,
                   const Interrupt& interrupt, CommandContext& context);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_SERVICE_FOLLOW_H_
