#include "tests/fakes/script_sage.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/types.h>
#include <torch/utils.h>

namespace fgnn {
namespace {

constexpr char kForward[] = R"(
def forward(self, x: Tensor, indptr: Tensor, indices: Tensor) -> Tensor:
  means = torch.embedding_bag(x, indices, indptr, mode=1,
                              include_last_offset=True)[0]
  own = x[:indptr.size(0) - 1]
  z = torch.linear(means, self.neighbors, self.bias)
  z = z + torch.linear(own, self.own)
  if self.dropout:
    z = torch.dropout(z, 0.5, self.training)
  if self.throws and not self.training:
    assert x.size(0) <= self.most_sources, "no evaluation today"
  return z if self.last else torch.relu(z)
)";
constexpr char kOneArgument[] = R"(
def forward(self, x: Tensor) -> Tensor:
  return torch.linear(x, self.own)
)";

torch::jit::Module Layer(int64_t in, int64_t out, bool last,
                         const std::string& flaw) {
  torch::jit::Module layer("Sage");
  const auto type = flaw == "double" ? torch::kFloat64 : torch::kFloat32;
  const auto add = [&](const char* name, at::IntArrayRef shape, bool trained) {
    layer.register_parameter(
        name, (0.3 * torch::randn(shape, type)).requires_grad_(trained), false);
  };
  add("neighbors", {out, in}, flaw != "no_gradient");
  add("bias", {out}, flaw != "no_gradient" && flaw != "frozen_bias");
  add("own", {out, in}, flaw != "no_gradient");
  const auto flag = [&layer](const char* name, bool value) {
    layer.register_attribute(name, c10::BoolType::get(), value);
  };
  flag("training", true);
  flag("last", last);
  flag("dropout", flaw == "dropout");
  flag("throws", flaw == "throws" || flaw == "throws_late");
  layer.register_attribute("most_sources", c10::IntType::get(),
                           flaw == "throws" ? 0 : 100);
  if (flaw == "buffer") layer.register_buffer("mean", torch::zeros({in}));
  layer.define(flaw == "one_argument" ? kOneArgument : kForward);
  return layer;
}

}  // namespace

void WriteScriptSage(const std::filesystem::path& path,
                     const std::vector<int64_t>& widths,
                     const std::string& flaw) {
  torch::manual_seed(1);
  torch::jit::Module layers("Layers");
  for (size_t i = 0; i + 1 < widths.size(); ++i) {
    layers.register_module(
        std::to_string(i),
        Layer(widths[i], widths[i + 1], i + 2 == widths.size(), flaw));
  }
  torch::jit::Module model("Model");
  model.register_module(flaw == "no_layers" ? "stack" : "layers", layers);
  if (flaw == "stray_parameter") {
    model.register_parameter("scale", torch::ones({1}), false);
  }
  model.save(path.string());
}

}  // namespace fgnn
