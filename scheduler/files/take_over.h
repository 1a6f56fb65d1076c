// The state of a run when its scheduler died, from what survived: the gradient
// board in shared memory and metrics.jsonl.
#ifndef FGNN_SCHEDULER_FILES_TAKE_OVER_H_
#define FGNN_SCHEDULER_FILES_TAKE_OVER_H_

#include "absl/status/statusor.h"
#include "scheduler/figures/run_state.h"
#include "scheduler/files/run_folder.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/segment.h"

namespace fgnn {

// Returns the state at the end of the last epoch in metrics.jsonl. The records
// of all later batches are on the board, to be recorded again.
// FailedPrecondition: nothing was trained yet, or records are missing; the job
// then goes on from a checkpoint.
absl::StatusOr<RunState> FindRunningState(const SegmentOptions& segment,
                                          const GradientBoard& board,
                                          const RunFolder& folder,
                                          bool has_digests);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_TAKE_OVER_H_
