// Follows a job until it ends, and prints its result.
#ifndef FGNN_TOOLS_FGNN_SERVICE_FOLLOW_H_
#define FGNN_TOOLS_FGNN_SERVICE_FOLLOW_H_

#include "absl/status/statusor.h"
#include "fgnn/v1/job_service.pb.h"
#include "shared/command_line/command_line.h"
#include "tools/fgnn/command_context.h"
#include "tools/fgnn/service/interrupt.h"
#include "tools/fgnn/service/service_client.h"

namespace fgnn {

// Adds --quiet to a command that calls FollowJob().
void AddQuietFlag(Command command, CommandContext& context);

// Shows the job's progress on stdout until it has ended, then its summary: the
// stage table, test accuracy and where the results are. With --json the summary
// is one last line {"type": "summary", …}. Returns the job as it ended. Ctrl-C
// ends the following, not the job: Cancelled, after printing on stderr how to
// watch and how to cancel.
absl::StatusOr<v1::Job> FollowJob(const CommandContext& context,
                                  ServiceClient& client, const v1::Job& job,
                                  Interrupt& interrupt);

// Sets the command's result for a job that was followed: OK, its error, or exit
// code 130 after Ctrl-C.
void AnswerWithJob(const absl::StatusOr<v1::Job>& job,
                   const Interrupt& interrupt, CommandContext& context);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_SERVICE_FOLLOW_H_
