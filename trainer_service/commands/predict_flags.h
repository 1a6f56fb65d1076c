// Which flags of `predict` fit together, and fit a model.
#ifndef FGNN_TRAINER_SERVICE_COMMANDS_PREDICT_FLAGS_H_
#define FGNN_TRAINER_SERVICE_COMMANDS_PREDICT_FLAGS_H_

#include "absl/status/status.h"
#include "trainer_service/commands/predict_command.h"
#include "trainer_service/infer/predict.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// InvalidArgument, with the way out: the model cannot predict `kind`, a flag is
// not for this kind, or --top-k asks for more classes than there are.
absl::Status CheckPredictFlags(const PredictOptions& options,
                               PredictionKind kind, const ModelOptions& model);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMMANDS_PREDICT_FLAGS_H_
