// An evaluation by all of a job's trainers that are attached.
#ifndef FGNN_SCHEDULER_EXECUTORS_JOB_EVALUATION_H_
#define FGNN_SCHEDULER_EXECUTORS_JOB_EVALUATION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/executors/daemon_address.h"
#include "scheduler/executors/executor_caller.h"
#include "scheduler/executors/executor_calls.h"
#include "scheduler/executors/job_segment.h"
#include "shared/executors/chunk_division.h"

namespace fgnn {

// The part of this host in an evaluation by all hosts of the job.
struct HostEvaluation {
  ChunkDivision division;
  // Asked about ten times a second. Its error ends the evaluation here, and is
  // the result.
  KeepGoing goes_on;
  // Whether it goes on for the sake of other hosts until that error, and not
  // only until the trainers of this host have all scores.
  bool serves_others = false;
};

// Not thread-safe: for the job's thread alone.
class JobEvaluation {
 public:
  // Both are borrowed.
  JobEvaluation(ExecutorCaller* caller, JobSegment* segment)
      : caller_(caller), segment_(segment) {}

  // Has the trainers score `checkpoint` on the splits; empty: the segment's
  // newest weights. In that case training has to be closed meanwhile. `over`:
  // this host's part in an evaluation by all hosts; null: this host evaluates
  // alone. Then the exchange takes part too.
  absl::StatusOr<Evaluation> Evaluate(const std::string& checkpoint,
                                      const std::vector<std::string>& splits,
                                      const HostEvaluation* over = nullptr);

 private:
  absl::StatusOr<Evaluation> EvaluateAlone(const DaemonAddress& trainer,
                                           const EvaluateRequest& request);
  // On an error, sets `failed` to the daemon that failed first.
  absl::StatusOr<Evaluation> EvaluateTogether(
      const std::vector<DaemonAddress>& trainers, EvaluateRequest request,
      const HostEvaluation* over, DaemonAddress* failed);

  ExecutorCaller* const caller_;
  JobSegment* const segment_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_JOB_EVALUATION_H_
