#include "tests/unit/trainer_service/nn/autograd_reference.h"

#include <cstddef>
#include <map>
#include <string>

#include "tests/unit/trainer_service/nn/autograd_layers.h"

namespace fgnn {
namespace {

// What hidden layers make of z before dropout.
torch::Tensor Activation(const std::string& kind, const torch::Tensor& z,
                         Pass* pass) {
  const torch::Tensor rows = pass->Bend(z, 0);
  if (kind != "pinsage") return rows;
  return torch::nn::functional::normalize(
      rows, torch::nn::functional::NormalizeFuncOptions().dim(1));
}

// norm(z) by the parameters of norms.<layer>; what it measures of a batch
// becomes the "gradient" of the running mean and variance.
torch::Tensor Normalize(const std::string& normalization, uint32_t layer,
                        const torch::Tensor& z,
                        std::map<std::string, torch::Tensor>* parameters) {
  const bool batch = normalization == "batch";
  const std::string prefix = "norms." + std::to_string(layer) + ".";
  const torch::Tensor mean = z.mean(batch ? 0 : 1, /*keepdim=*/true);
  const torch::Tensor squares =
      (z - mean).square().sum(batch ? 0 : 1, /*keepdim=*/true);
  const auto count = static_cast<double>(z.size(batch ? 0 : 1));
  if (batch) {
    const double others = std::max(count - 1, 1.0);
    parameters->at(prefix + "running_mean").mutable_grad() =
        mean.detach().squeeze(0);
    parameters->at(prefix + "running_var").mutable_grad() =
        squares.detach().squeeze(0) / others;
  }
  return (z - mean) / torch::sqrt(squares / count + 1e-5) *
             parameters->at(prefix + "weight") +
         parameters->at(prefix + "bias");
}

struct Loss {
  torch::Tensor mean;
  int64_t num_correct = 0;
};

// x [seeds, classes]
Loss LossOfSeeds(const RandomBatch& random, const torch::Tensor& x,
                 double label_smoothing) {
  const torch::Tensor labels = torch::tensor(random.labels());
  return {torch::nn::functional::cross_entropy(
              x, labels,
              torch::nn::functional::CrossEntropyFuncOptions().label_smoothing(
                  label_smoothing)),
          (x.argmax(1) == labels).sum().item<int64_t>()};
}

// x [seeds, columns]
Loss LossOfTargets(const RandomBatch& random, const torch::Tensor& x,
                   Objective objective) {
  const torch::Tensor targets =
      torch::tensor(random.targets()).to(torch::kFloat64).view(x.sizes());
  return {objective == Objective::kValues
              ? torch::nn::MSELoss()(x, targets)
              : torch::nn::BCEWithLogitsLoss()(x, targets)};
}

// x [seeds, hidden]
Loss LossOfPairs(const TaskView& task, const torch::Tensor& x) {
  const std::vector<int64_t> ends(task.pairs.begin(), task.pairs.end());
  const torch::Tensor pairs = torch::tensor(ends).view({-1, 2});
  const torch::Tensor logits = (x.index_select(0, pairs.select(1, 0)) *
                                x.index_select(0, pairs.select(1, 1)))
                                   .sum(1);
  const torch::Tensor is_edge =
      torch::arange(logits.size(0)) < int64_t{task.num_positives};
  return {torch::nn::functional::binary_cross_entropy_with_logits(
              logits, is_edge.to(torch::kFloat64)),
          ((logits > 0) == is_edge).sum().item<int64_t>()};
}

Loss LossOf(const ModelOptions& options, const RandomBatch& random,
            const torch::Tensor& x) {
  if (options.predicts_links()) return LossOfPairs(random.task(), x);
  return options.has_targets()
             ? LossOfTargets(random, x, options.objective)
             : LossOfSeeds(random, x, options.label_smoothing);
}

// The parameters, of which gradients are asked.
struct Leaves {
  std::vector<torch::Tensor> all;
  std::map<std::string, torch::Tensor> by_name;
  size_t per_layer = 0;  // Number of a layer's own. They are the first.
};

Leaves LeavesOf(const Model& model, const std::vector<float>& weights) {
  Leaves leaves;
  size_t of_convs = 0;
  for (const ParameterInfo& parameter : model.parameters()) {
    std::vector<int64_t> shape(parameter.shape.begin(), parameter.shape.end());
    leaves.all.push_back(
        torch::from_blob(const_cast<float*>(&weights[parameter.offset]), shape)
            .to(torch::kFloat64)
            .requires_grad_());
    leaves.by_name[parameter.name] = leaves.all.back();
    if (parameter.name.starts_with("convs.")) ++of_convs;
  }
  leaves.per_layer = of_convs / model.options().layers;
  return leaves;
}

LayerRows FeaturesOf(const ModelOptions& options, RandomBatch& random,
                     const Pass& pass) {
  const torch::Tensor given =
      torch::from_blob(const_cast<float*>(random.features().data()),
                       {static_cast<int64_t>(random.task().input_nodes.size()),
                        static_cast<int64_t>(options.input_columns)})
          .to(torch::kFloat64);
  const torch::Tensor x =
      given * DropoutMask(options.input_dropout, DropoutKey(random.batch(), 0),
                          given.sizes());
  const torch::Tensor stored = pass.Stored(x);
  return {stored, pass.rounding() == Rounding::kOnCpu ? x : stored};
}

// The parameters of a layer's own, as it stores them.
std::vector<torch::Tensor> OfLayer(const Leaves& leaves, uint32_t layer,
                                   const Pass& pass) {
  std::vector<torch::Tensor> parameters;
  for (size_t i = 0; i < leaves.per_layer; ++i) {
    const torch::Tensor& given = leaves.all[layer * leaves.per_layer + i];
    // Matrices are factors of products.
    parameters.push_back(given.dim() == 2 ? pass.Stored(given) : given);
  }
  return parameters;
}

// The last layer's z.
torch::Tensor Outputs(const Model& model, ProductOrder order,
                      RandomBatch& random, Leaves* leaves, Pass* pass) {
  const ModelOptions& options = model.options();
  LayerRows x = FeaturesOf(options, random, *pass);
  torch::Tensor z;
  for (uint32_t layer = 0; layer < options.layers; ++layer) {
    const BlockView& block = random.task().hops[options.layers - 1 - layer];
    z = LayerByTorch(options, order, layer, random, x,
                     OfLayer(*leaves, layer, *pass), pass);
    if (options.normalizes(layer)) {
      z = Normalize(options.normalization, layer, z, &leaves->by_name);
    }
    if (options.adds_inputs(layer)) {
      z = z + x.stored.slice(0, 0, block.num_destinations);
    }
    if (layer + 1 == options.layers) break;
    x.stored = pass->Stored(Activation(options.kind, z, pass) *
                            DropoutMask(options.dropout,
                                        DropoutKey(random.batch(), layer + 1),
                                        z.sizes()));
    x.summed = x.stored;
  }
  return z;
}

Reference GradientOf(const Model& model, const std::vector<float>& weights,
                     RandomBatch& random, ProductOrder order, Pass* pass) {
  Leaves leaves = LeavesOf(model, weights);
  const Loss loss = LossOf(model.options(), random,
                           Outputs(model, order, random, &leaves, pass));
  loss.mean.backward();
  std::vector<torch::Tensor> gradients;
  for (const torch::Tensor& leaf : leaves.all) {
    gradients.push_back(leaf.grad().flatten());
  }
  return {loss.mean.item<double>(), loss.num_correct, torch::cat(gradients)};
}

}  // namespace

double Reference::DistanceOf(std::vector<float>& other) const {
  const torch::Tensor found =
      torch::from_blob(other.data(), {static_cast<int64_t>(other.size())})
          .to(torch::kFloat64);
  return ((found - gradient).norm() / (gradient.norm() + 1e-9)).item<double>();
}

Reference ByAutograd(const Model& model, const std::vector<float>& weights,
                     RandomBatch& random, Rounding rounding,
                     ProductOrder order) {
  Pass pass(rounding);
  return GradientOf(model, weights, random, order, &pass);
}

Reference OnSidesOf(Rounding rounding, const Model& model,
                    const std::vector<float>& weights, RandomBatch& random,
                    ProductOrder order) {
  Pass leader(rounding);
  Leaves leaves = LeavesOf(model, weights);
  Outputs(model, order, random, &leaves, &leader);
  Pass pass(&leader);
  return GradientOf(model, weights, random, order, &pass);
}

}  // namespace fgnn
