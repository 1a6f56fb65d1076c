// Checks that a checkpoint's weights belong to a model.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_CHECK_CODE_H_
#define FGNN_TRAINER_SERVICE_BACKEND_CHECK_CODE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "trainer_service/checkpoint/checkpoint.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Returns a warning that the user's code is not the one by which the weights
// were trained; empty: it is. `code_crc32c`: see TrainerBackend.
std::string WarningOfOtherCode(const CheckpointInfo& info,
                               const ModelOptions& model, uint32_t code_crc32c);

// The model has the checkpoint's options. `code_crc32c`: see TrainerBackend.
// Returns InvalidArgument if the user's code has other parameters. If the code
// differs but has the same parameters, the function writes a line to the log.
absl::Status CheckCode(const CheckpointInfo& info, const ModelOptions& model,
                       const std::vector<ParameterInfo>& parameters,
                       uint32_t code_crc32c);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CHECK_CODE_H_
