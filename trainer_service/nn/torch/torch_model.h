// A user's model, from a plugin or a TorchScript file, run by libtorch.
#ifndef FGNN_TRAINER_SERVICE_NN_TORCH_TORCH_MODEL_H_
#define FGNN_TRAINER_SERVICE_NN_TORCH_TORCH_MODEL_H_

#include <cstdint>
#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Makes the model of options.is_users(). A plugin's first weights come from
// `seed`; a file has its own. The code is tried on a tiny batch, so that errors
// show before training. Gradients are computed on the calling thread:
// libtorch's sums would depend on the number of its own threads. `team`, which
// is borrowed, counts the model's work. InvalidArgument, with the reason: see
// ValidateOptions, or the model cannot be trained here or does not fit the
// dataset. Other errors: those of OpenModelPlugin() and OpenTorchScript().
absl::StatusOr<std::unique_ptr<Model>> MakeTorchModel(
    const ModelOptions& options, const std::filesystem::path& plugins,
    uint64_t seed, ThreadTeam* team);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_TORCH_TORCH_MODEL_H_
