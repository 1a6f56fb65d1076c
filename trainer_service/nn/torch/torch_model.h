// A model of the user's, a plugin's or a TorchScript file's, by libtorch.
#ifndef FGNN_TRAINER_SERVICE_NN_TORCH_TORCH_MODEL_H_
#define FGNN_TRAINER_SERVICE_NN_TORCH_TORCH_MODEL_H_

#include <cstdint>
#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Where the code that `options` name is: the plugin's library in the folder
// `plugins`, or the TorchScript file.
std::filesystem::path CodeOf(const ModelOptions& options,
                             const std::filesystem::path& plugins);

// Makes the model of options.is_users(). A plugin's first weights come from
// `seed`, a file's are in it. Its code is tried on a tiny batch, so that what
// does not fit is known before training. Gradients are computed on the calling
// thread: libtorch's sums would depend on the number of its own; `team`, which
// is borrowed, counts what it does.
// InvalidArgument: see ValidateOptions; the model is none that can be trained
// here, or does not fit the dataset, and why. Errors of OpenModelPlugin() and
// OpenTorchScript().
absl::StatusOr<std::unique_ptr<Model>> MakeTorchModel(
    const ModelOptions& options, const std::filesystem::path& plugins,
    uint64_t seed, ThreadTeam* team);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_TORCH_TORCH_MODEL_H_
