// A user's model as layers, whatever it is written in. Exceptions come from the
// user's code or libtorch; see torch_call.h.
#ifndef FGNN_TRAINER_SERVICE_NN_TORCH_USER_LAYERS_H_
#define FGNN_TRAINER_SERVICE_NN_TORCH_USER_LAYERS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

class UserLayer {
 public:
  virtual ~UserLayer() = default;

  // See ModelLayer::forward() of trainer_service/plugin/model_plugin.h.
  virtual at::Tensor Forward(const at::Tensor& x, const at::Tensor& indptr,
                             const at::Tensor& indices) = 0;
  // Sets whether the layer trains or evaluates from now on.
  virtual void Train(bool on) = 0;
  // Returns the parameters, always in the same order. Names are the layer's
  // own.
  virtual std::vector<std::pair<std::string, at::Tensor>> Parameters()
      const = 0;
  virtual std::vector<std::string> BufferNames() const = 0;
};

// Must outlive its layers.
class UserLayers {
 public:
  virtual ~UserLayers() = default;

  // Makes a new layer. A plugin's layer has values from libtorch's generator, a
  // file's layer those of the file.
  virtual std::unique_ptr<UserLayer> MakeLayer(uint32_t layer) const = 0;
};

// Returns the model's name in errors: "model.plugin 'sage'", "model.file
// /models/sage.pt".
std::string NameOf(const ModelOptions& options);

// Opens `plugins`/lib`options.plugin`.so. Errors: those of
// PluginLibrary::Open(). FailedPrecondition: it was built with another release
// of libtorch.
absl::StatusOr<std::unique_ptr<UserLayers>> OpenModelPlugin(
    const ModelOptions& options, const std::filesystem::path& plugins);

// Opens the TorchScript of options.file: a module with a list `layers`, of as
// many modules as options.layers, each with the method
//   forward(self, x: Tensor, indptr: Tensor, indices: Tensor) -> Tensor
// NotFound. InvalidArgument, naming what is expected: it is no such file.
absl::StatusOr<std::unique_ptr<UserLayers>> OpenTorchScript(
    const ModelOptions& options);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_TORCH_USER_LAYERS_H_
