// Tries a user's model on a tiny batch, so that its errors show before a job
// begins.
#ifndef FGNN_TRAINER_SERVICE_NN_TRY_OUT_H_
#define FGNN_TRAINER_SERVICE_NN_TRY_OUT_H_

#include "absl/status/status.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Tries a batch in which one destination has no edge, forwards and backwards,
// and evaluation if `infers`. Returns the model's error, with the columns of
// the dataset.
absl::Status TryOut(Model& model, bool infers);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_TRY_OUT_H_
