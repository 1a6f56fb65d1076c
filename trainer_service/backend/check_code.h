// Whether a checkpoint's weights are those of a back end's model.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_CHECK_CODE_H_
#define FGNN_TRAINER_SERVICE_BACKEND_CHECK_CODE_H_

#include "absl/status/status.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/checkpoint/checkpoint.h"

namespace fgnn {

// The model has the checkpoint's options. InvalidArgument: the user's code has
// other parameters. Where it is other code with the same ones, the log says so.
absl::Status CheckCode(const CheckpointInfo& info,
                       const TrainerBackend& backend);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CHECK_CODE_H_
