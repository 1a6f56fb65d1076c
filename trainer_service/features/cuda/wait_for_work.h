// Waits of a trainer's thread for work on a CUDA device.
#ifndef FGNN_TRAINER_SERVICE_FEATURES_CUDA_WAIT_FOR_WORK_H_
#define FGNN_TRAINER_SERVICE_FEATURES_CUDA_WAIT_FOR_WORK_H_

#include "absl/status/status.h"
#include "shared/device/cuda/stream.h"
#include "trainer_service/compute/thread_team.h"

namespace fgnn {

// Waits until the work that `event` marks is done. Counts tasks of `team`
// meanwhile, so that the thread is not taken for one that hangs. Internal: the
// work failed, or goes on after a minute.
absl::Status WaitForWork(const CudaEvent& event, ThreadTeam& team);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_CUDA_WAIT_FOR_WORK_H_
