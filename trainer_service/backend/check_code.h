// Checks that a checkpoint's weights belong to a back end's model.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_CHECK_CODE_H_
#define FGNN_TRAINER_SERVICE_BACKEND_CHECK_CODE_H_

#include "absl/status/status.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/checkpoint/checkpoint.h"

namespace fgnn {

// The model has the checkpoint's options. Returns InvalidArgument if the user's
// code has other parameters. If the code differs but has the same parameters,
// the function writes a line to the log.
absl::Status CheckCode(const CheckpointInfo& info,
                       const TrainerBackend& backend);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CHECK_CODE_H_
