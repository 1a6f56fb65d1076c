// The model's gradients against those of PyTorch's autograd on plain dense
// operations in f64.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "shared/base/philox.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/nn/random_batch.h"
#include "trainer_service/nn/cpu/cpu_model.h"
#include "trainer_service/nn/cpu/dropout.h"

namespace fgnn {
namespace {

// [D, S] How often a destination names a source.
torch::Tensor NeighborMatrix(const BlockView& block) {
  torch::Tensor matrix = torch::zeros(
      {block.num_destinations, block.num_sources}, torch::kFloat64);
  auto entries = matrix.accessor<double, 2>();
  for (uint32_t d = 0; d < block.num_destinations; ++d) {
    for (uint32_t e = block.indptr[d]; e < block.indptr[d + 1]; ++e) {
      entries[d][block.indices[e]] += 1.0;
    }
  }
  return matrix;
}

// z [D, out] of x [S, in]; the parameters of one layer in their order.
torch::Tensor Layer(const std::string& kind, const BlockView& block,
                    const torch::Tensor& x,
                    const std::vector<torch::Tensor>& parameters) {
  const torch::Tensor neighbors = NeighborMatrix(block);
  const torch::Tensor degrees = neighbors.sum(1, /*keepdim=*/true);
  const torch::Tensor own = x.slice(0, 0, block.num_destinations);
  const torch::Tensor sums = torch::mm(neighbors, x);
  if (kind == "gcn") {
    return torch::mm((own + sums) / (degrees + 1), parameters[0].t()) +
           parameters[1];
  }
  if (kind == "gin") {
    const torch::Tensor hidden = torch::relu(
        torch::mm((1 + parameters[0]) * own + sums, parameters[1].t()) +
        parameters[2]);
    return torch::mm(hidden, parameters[3].t()) + parameters[4];
  }
  return torch::mm(sums / degrees.clamp_min(1), parameters[0].t()) +
         torch::mm(own, parameters[1].t()) + parameters[2];
}

// What a flat array of ones becomes.
torch::Tensor Mask(double rate, const TrainingBatch& batch, uint32_t layer,
                   at::IntArrayRef shape) {
  torch::Tensor mask = torch::ones(shape, torch::kFloat32);
  ApplyDropout(
      Dropout::Of(rate, MakePhiloxKey(batch.seed, batch.epoch, batch.batch,
                                      layer, Purpose::kDropout)),
      0, mask.numel(), mask.data_ptr<float>());
  return mask.to(torch::kFloat64);
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

struct Reference {
  double loss = 0;
  int64_t num_correct = 0;
  torch::Tensor gradient;  // [P]
};

Reference ByAutograd(const Model& model, const std::vector<float>& weights,
                     RandomBatch& random) {
  const TrainingBatch batch = random.batch();
  const ModelOptions& options = model.options();
  std::vector<torch::Tensor> parameters;
  std::map<std::string, torch::Tensor> by_name;
  size_t of_convs = 0;
  for (const ParameterInfo& parameter : model.parameters()) {
    std::vector<int64_t> shape(parameter.shape.begin(), parameter.shape.end());
    parameters.push_back(
        torch::from_blob(const_cast<float*>(&weights[parameter.offset]), shape)
            .to(torch::kFloat64)
            .requires_grad_());
    by_name[parameter.name] = parameters.back();
    if (parameter.name.starts_with("convs.")) ++of_convs;
  }
  torch::Tensor x =
      torch::from_blob(const_cast<float*>(random.features().data()),
                       {static_cast<int64_t>(random.task().input_nodes.size()),
                        static_cast<int64_t>(options.input_columns)})
          .to(torch::kFloat64);
  x = x * Mask(options.input_dropout, batch, 0, x.sizes());
  const size_t per_layer = of_convs / options.layers;
  for (uint32_t layer = 0; layer < options.layers; ++layer) {
    const BlockView& block = random.task().hops[options.layers - 1 - layer];
    const auto first =
        parameters.begin() + static_cast<ptrdiff_t>(layer * per_layer);
    const torch::Tensor own = x.slice(0, 0, block.num_destinations);
    x = Layer(options.kind, block, x,
              {first, first + static_cast<ptrdiff_t>(per_layer)});
    if (options.normalizes(layer)) {
      x = Normalize(options.normalization, layer, x, &by_name);
    }
    if (options.adds_inputs(layer)) x = x + own;
    if (layer + 1 < options.layers) {
      x = torch::relu(x) * Mask(options.dropout, batch, layer + 1, x.sizes());
    }
  }
  const torch::Tensor labels = torch::tensor(random.labels());
  torch::Tensor loss = torch::nn::functional::cross_entropy(
      x, labels,
      torch::nn::functional::CrossEntropyFuncOptions().label_smoothing(
          options.label_smoothing));
  loss.backward();
  std::vector<torch::Tensor> gradients;
  for (const torch::Tensor& parameter : parameters) {
    gradients.push_back(parameter.grad().flatten());
  }
  return {loss.item<double>(), (x.argmax(1) == labels).sum().item<int64_t>(),
          torch::cat(gradients)};
}

struct Case {
  std::string name;
  RandomBatchOptions options;
};

Case MakeCase(std::string name, uint32_t layers, uint64_t columns,
              uint32_t hidden, uint32_t classes) {
  Case made;
  made.name = std::move(name);
  made.options.model.layers = layers;
  made.options.model.input_columns = columns;
  made.options.model.hidden = hidden;
  made.options.model.num_classes = classes;
  return made;
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  cases.push_back(MakeCase("OneLayer", 1, 13, 1, 3));
  cases.push_back(MakeCase("TwoLayers", 2, 17, 9, 4));
  cases.push_back(MakeCase("WideInput", 2, 211, 8, 7));
  cases.push_back(MakeCase("ThreeLayers", 3, 100, 65, 47));
  cases.push_back(MakeCase("OneColumn", 2, 1, 1, 1));
  cases.push_back(MakeCase("NoEdges", 2, 5, 6, 3));
  cases.back().options.largest_degree = 0;
  cases.push_back(MakeCase("OneSeed", 3, 5, 6, 3));
  cases.back().options.num_seeds = 1;
  cases.push_back(MakeCase("NoNewSources", 2, 5, 6, 3));
  cases.back().options.growth = 0;
  cases.push_back(MakeCase("Dropout", 3, 20, 33, 5));
  cases.back().options.model.dropout = 0.5;
  cases.push_back(MakeCase("InputDropout", 2, 20, 33, 5));
  cases.back().options.model.dropout = 0.3;
  cases.back().options.model.input_dropout = 0.6;
  cases.push_back(MakeCase("LabelSmoothing", 2, 17, 9, 4));
  cases.back().options.model.label_smoothing = 0.3;
  cases.push_back(MakeCase("Residual", 4, 11, 21, 5));
  cases.back().options.model.residual = true;
  cases.back().options.model.dropout = 0.3;
  cases.push_back(MakeCase("BatchNorm", 3, 11, 21, 5));
  cases.back().options.model.normalization = "batch";
  cases.back().options.model.dropout = 0.3;
  cases.push_back(MakeCase("LayerNormResidual", 3, 11, 37, 5));
  cases.back().options.model.normalization = "layer";
  cases.back().options.model.residual = true;
  cases.push_back(MakeCase("ManyRows", 2, 30, 16, 5));
  cases.back().options.num_seeds = 1100;
  cases.back().options.largest_degree = 12;
  return cases;
}

using Parameters = std::tuple<std::string, Case, ProductOrder>;

class AutogradTest : public testing::TestWithParam<Parameters> {
 protected:
  // libtorch's threads are OpenMP's, whose joins ThreadSanitizer does not see.
  static void SetUpTestSuite() { torch::set_num_threads(1); }

  // Fills the members below.
  void RunBothIn(Precision precision) {
    const auto& [kind, shape, order] = GetParam();
    RandomBatchOptions options = shape.options;
    options.model.kind = kind;
    options.model.precision = precision;
    RandomBatch batch(options);
    ThreadTeam team(2);
    FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Model> model,
                              MakeCpuModel(options.model, &team, order));
    const std::vector<float> weights = RandomWeights(*model, 9);
    gradient.assign(model->num_parameters(), 1e30F);
    FGNN_ASSERT_OK_AND_ASSIGN(
        result,
        model->Gradient(weights, batch.batch(), absl::MakeSpan(gradient)));
    reference = ByAutograd(*model, weights, batch);
  }

  BatchResult result;
  std::vector<float> gradient;
  Reference reference;
};

TEST_P(AutogradTest, GradientEqualsThatOfAutograd) {
  RunBothIn(Precision::kFloat32);
  EXPECT_NEAR(result.loss, reference.loss, 1e-5 * (1 + reference.loss));
  EXPECT_EQ(result.num_correct, reference.num_correct);
  const double largest = reference.gradient.abs().max().item<double>();
  const auto expected = reference.gradient.accessor<double, 1>();
  for (size_t i = 0; i < gradient.size(); ++i) {
    ASSERT_NEAR(gradient[i], expected[static_cast<int64_t>(i)],
                1e-5 * largest + 1e-7)
        << "weight " << i << " of " << gradient.size();
  }
}

class Bfloat16AutogradTest : public AutogradTest {};

// bfloat16 has 8 bits: every number that is kept is off by up to 2^-9 of it,
// and a large logit by as much as several hundredths of a probability.
TEST_P(Bfloat16AutogradTest, GradientIsCloseToThatOfAutograd) {
  RunBothIn(Precision::kBfloat16);
  EXPECT_NEAR(result.loss, reference.loss, 0.01 * reference.loss + 1e-6);
  const torch::Tensor found =
      torch::from_blob(gradient.data(), {static_cast<int64_t>(gradient.size())})
          .to(torch::kFloat64);
  const double difference = (found - reference.gradient).norm().item<double>();
  EXPECT_LE(difference, 0.05 * reference.gradient.norm().item<double>() + 1e-6);
}

std::string NameOfCase(const testing::TestParamInfo<Parameters>& instance) {
  const auto& [kind, shape, order] = instance.param;
  const std::string name = kind + shape.name;
  if (order == ProductOrder::kCheapest) return name + "Cheapest";
  return name + (order == ProductOrder::kAggregateFirst ? "AggregateFirst"
                                                        : "TransformFirst");
}

auto Orders() {
  return testing::Values(ProductOrder::kAggregateFirst,
                         ProductOrder::kTransformFirst,
                         ProductOrder::kCheapest);
}

INSTANTIATE_TEST_SUITE_P(Shapes, AutogradTest,
                         testing::Combine(testing::Values("graphsage", "gcn",
                                                          "gin"),
                                          testing::ValuesIn(Cases()), Orders()),
                         NameOfCase);

INSTANTIATE_TEST_SUITE_P(Shapes, Bfloat16AutogradTest,
                         testing::Combine(testing::Values("graphsage"),
                                          testing::ValuesIn(Cases()), Orders()),
                         NameOfCase);

}  // namespace
}  // namespace fgnn
