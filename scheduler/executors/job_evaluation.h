// An evaluation by all of a job's trainers that are attached.
#ifndef FGNN_SCHEDULER_EXECUTORS_JOB_EVALUATION_H_
#define FGNN_SCHEDULER_EXECUTORS_JOB_EVALUATION_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/executors/daemon_address.h"
#include "scheduler/executors/executor_caller.h"
#include "scheduler/executors/executor_calls.h"
#include "scheduler/executors/job_segment.h"

namespace fgnn {

// Not thread-safe: for the job's thread alone.
class JobEvaluation {
 public:
  // Both are borrowed.
  JobEvaluation(ExecutorCaller* caller, JobSegment* segment)
      : caller_(caller), segment_(segment) {}

  // Has the trainers score `checkpoint` on the splits; empty: the segment's
  // newest weights. In that case training has to be closed meanwhile.
  absl::StatusOr<Evaluation> Evaluate(const std::string& checkpoint,
                                      const std::vector<std::string>& splits);

 private:
  absl::StatusOr<Evaluation> EvaluateAlone(const DaemonAddress& trainer,
                                           const EvaluateRequest& request);
  // On an error, sets `failed` to the index of the trainer that failed first.
  absl::StatusOr<Evaluation> EvaluateTogether(
      const std::vector<DaemonAddress>& trainers, EvaluateRequest request,
      size_t* failed);

  ExecutorCaller* const caller_;
  JobSegment* const segment_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_JOB_EVALUATION_H_
