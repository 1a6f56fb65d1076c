#include <torch/version.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/plugin/plugin_library.h"
#include "trainer_service/nn/torch/user_layers.h"
#include "trainer_service/plugin/model_plugin.h"

namespace fgnn {
namespace {

class PluginLayer : public UserLayer {
 public:
  explicit PluginLayer(std::shared_ptr<ModelLayer> layer)
      : layer_(std::move(layer)) {}

  at::Tensor Forward(const at::Tensor& x, const at::Tensor& indptr,
                     const at::Tensor& indices) override {
    return layer_->forward(x, indptr, indices);
  }
  void Train(bool on) override { layer_->train(on); }

  std::vector<std::pair<std::string, at::Tensor>> Parameters() const override {
    return layer_->named_parameters().pairs();
  }
  std::vector<std::string> BufferNames() const override {
    return layer_->named_buffers().keys();
  }

 private:
  // Shared, as libtorch's modules are.
  const std::shared_ptr<ModelLayer> layer_;
};

class PluginLayers : public UserLayers {
 public:
  PluginLayers(const ModelOptions& options,
               std::unique_ptr<PluginLibrary> library)
      : options_(options), library_(std::move(library)) {}

  std::unique_ptr<UserLayer> MakeLayer(uint32_t layer) const override {
    const auto& entry = library_->entry<ModelPluginEntry>();
    ModelLayerOptions options;
    options.layer = layer;
    options.num_layers = options_.layers;
    options.in = static_cast<int64_t>(options_.input_width(layer));
    options.out = static_cast<int64_t>(options_.output_width(layer));
    options.dropout = layer == 0 ? options_.input_dropout : options_.dropout;
    return std::make_unique<PluginLayer>(entry.make_layer(options));
  }

 private:
  const ModelOptions options_;
  const std::unique_ptr<PluginLibrary> library_;
};

}  // namespace

std::string NameOf(const ModelOptions& options) {
  return options.kind == "plugin"
             ? absl::StrCat("model.plugin '", options.plugin, "'")
             : absl::StrCat("model.file ", options.file);
}

absl::StatusOr<std::unique_ptr<UserLayers>> OpenModelPlugin(
    const ModelOptions& options, const std::filesystem::path& plugins) {
  FGNN_ASSIGN_OR_RETURN(
      std::unique_ptr<PluginLibrary> library,
      PluginLibrary::Open<ModelPluginEntry>(
          {.folder = plugins, .name = options.plugin, .field = "model.plugin"},
          "fgnn_model_plugin", "FGNN_MODEL_PLUGIN", kModelPluginVersion));
  const char* const its_torch =
      library->entry<ModelPluginEntry>().torch_version;
  if (std::strcmp(its_torch, TORCH_VERSION) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(NameOf(options), " was built with libtorch ", its_torch,
                     ", this FGNN with ", TORCH_VERSION,
                     ": build it again with that one's headers"));
  }
  return std::make_unique<PluginLayers>(options, std::move(library));
}

}  // namespace fgnn
