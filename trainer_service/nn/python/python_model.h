// A user's PyTorch module, computed by a process of the user's Python.
#ifndef FGNN_TRAINER_SERVICE_NN_PYTHON_PYTHON_MODEL_H_
#define FGNN_TRAINER_SERVICE_NN_PYTHON_PYTHON_MODEL_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Makes the model of kind "python". Its first weights come from `seed`. It is
// tried on a tiny batch, so that errors show before training. The worker
// computes on one thread: torch's sums would depend on their number. `team`,
// which is borrowed, counts the model's work. `infers`: whether Inference() is
// called. InvalidArgument, with the reason: see ValidateOptions, or the module
// cannot be trained here, does not fit the dataset, or has no layers() to infer
// with. Otherwise returns the errors of PythonSession::Start().
absl::StatusOr<std::unique_ptr<Model>> MakePythonModel(
    const ModelOptions& options, bool infers, uint64_t seed, ThreadTeam* team);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_PYTHON_PYTHON_MODEL_H_
