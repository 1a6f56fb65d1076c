#include <ATen/core/function_schema.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <sstream>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "trainer_service/nn/torch/torch_call.h"
#include "trainer_service/nn/torch/user_layers.h"

namespace fgnn {
namespace {

constexpr char kExpected[] =
    "it must be a module with a list `layers` of modules with "
    "forward(self, x: Tensor, indptr: Tensor, indices: Tensor) -> Tensor";

class ScriptLayer : public UserLayer {
 public:
  explicit ScriptLayer(torch::jit::Module layer) : layer_(std::move(layer)) {}

  at::Tensor Forward(const at::Tensor& x, const at::Tensor& indptr,
                     const at::Tensor& indices) override {
    // Code runs as written: code that was optimised after some calls would give
    // other last bits than in a new trainer.
    const torch::jit::GraphOptimizerEnabledGuard as_written(false);
    return layer_.get_method("forward")({x, indptr, indices}).toTensor();
  }
  void Train(bool on) override { layer_.train(on); }

  std::vector<std::pair<std::string, at::Tensor>> Parameters() const override {
    std::vector<std::pair<std::string, at::Tensor>> parameters;
    for (const auto& parameter : layer_.named_parameters()) {
      parameters.emplace_back(parameter.name, parameter.value);
    }
    return parameters;
  }
  std::vector<std::string> BufferNames() const override {
    std::vector<std::string> names;
    for (const auto& buffer : layer_.named_buffers()) {
      names.push_back(buffer.name);
    }
    return names;
  }

 private:
  torch::jit::Module layer_;
};

class ScriptLayers : public UserLayers {
 public:
  explicit ScriptLayers(std::vector<torch::jit::Module> layers)
      : layers_(std::move(layers)) {}

  std::unique_ptr<UserLayer> MakeLayer(uint32_t layer) const override {
    const at::NoGradGuard no_grad;
    torch::jit::Module copy = layers_[layer].deepcopy();
    // Copies lose whether a parameter asks for a gradient.
    auto copies = copy.parameters().begin();
    for (const at::Tensor& parameter : layers_[layer].parameters()) {
      (*copies).set_requires_grad(parameter.requires_grad());
      ++copies;
    }
    return std::make_unique<ScriptLayer>(std::move(copy));
  }

 private:
  const std::vector<torch::jit::Module> layers_;
};

// Checks that forward() takes and returns what a layer does. Returns the
// difference, or "".
std::string Misfit(const torch::jit::Module& layer) {
  const auto method = layer.find_method("forward");
  if (!method.has_value()) return "has no forward";
  const c10::FunctionSchema& schema = method->function().getSchema();
  bool fits = schema.arguments().size() == 4 && schema.returns().size() == 1 &&
              schema.returns()[0].type()->kind() == c10::TypeKind::TensorType;
  for (size_t i = 1; fits && i < 4; ++i) {
    fits = schema.arguments()[i].type()->kind() == c10::TypeKind::TensorType;
  }
  if (fits) return "";
  std::ostringstream text;
  text << "has " << schema;
  return text.str();
}

// Returns the modules of its list. InvalidArgument, without the file's name.
absl::StatusOr<std::vector<torch::jit::Module>> LayersOf(
    const torch::jit::Module& model, uint32_t num_layers) {
  if (!model.hasattr("layers") || !model.attr("layers").isModule()) {
    return absl::InvalidArgumentError("has no `layers`");
  }
  std::vector<torch::jit::Module> layers;
  for (const auto& child : model.attr("layers").toModule().named_children()) {
    layers.push_back(child.value);
    const std::string misfit = Misfit(child.value);
    if (misfit.empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("layers.", child.name, " ", misfit));
  }
  for (const auto& parameter : model.named_parameters()) {
    if (absl::StartsWith(parameter.name, "layers.")) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "has the parameter ", parameter.name, ", which is in no layer"));
  }
  if (layers.size() == num_layers) return layers;
  return absl::InvalidArgumentError(absl::StrCat(
      "has ", layers.size(), " layers, but model.layers is ", num_layers));
}

}  // namespace

absl::StatusOr<std::unique_ptr<UserLayers>> OpenTorchScript(
    const ModelOptions& options) {
  const std::string name = NameOf(options);
  std::error_code error;
  if (!std::filesystem::exists(options.file, error)) {
    return absl::NotFoundError(absl::StrCat(name, " does not exist"));
  }
  torch::jit::Module model;
  FGNN_RETURN_IF_ERROR(CallTorch(
      absl::StrCat(name, " is no TorchScript file; libtorch"),
      [&] { model = torch::jit::load(options.file, c10::Device(c10::kCPU)); }));
  auto layers = LayersOf(model, options.layers);
  if (!layers.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " ", layers.status().message(), "; ", kExpected));
  }
  return std::make_unique<ScriptLayers>(*std::move(layers));
}

}  // namespace fgnn
