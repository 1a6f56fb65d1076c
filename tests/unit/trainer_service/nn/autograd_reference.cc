#include "tests/unit/trainer_service/nn/autograd_reference.h"

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "shared/base/philox.h"
#include "trainer_service/nn/cpu/kernels/dropout.h"

namespace fgnn {
namespace {

// [D, S] How often a destination names a source, or what the edges weigh.
torch::Tensor NeighborMatrix(const BlockView& block,
                             absl::Span<const float> weights = {}) {
  torch::Tensor matrix = torch::zeros(
      {block.num_destinations, block.num_sources}, torch::kFloat64);
  auto entries = matrix.accessor<double, 2>();
  for (uint32_t d = 0; d < block.num_destinations; ++d) {
    for (uint32_t e = block.indptr[d]; e < block.indptr[d + 1]; ++e) {
      entries[d][block.indices[e]] +=
          weights.empty() ? 1.0 : double{weights[e]};
    }
  }
  return matrix;
}

// [D, columns] The largest of messages [S, columns], 0 at least, over a
// destination's neighbours: of the source that is the first to have it.
torch::Tensor LargestOfNeighbors(const BlockView& block,
                                 const torch::Tensor& messages) {
  const int64_t columns = messages.size(1);
  const torch::Tensor rows =
      torch::cat({messages, torch::zeros({1, columns}, torch::kFloat64)});
  const auto values = rows.accessor<double, 2>();
  torch::Tensor winners =
      torch::full({block.num_destinations, columns}, int64_t{block.num_sources},
                  torch::kInt64);
  auto winner = winners.accessor<int64_t, 2>();
  for (uint32_t d = 0; d < block.num_destinations; ++d) {
    for (uint32_t e = block.indptr[d]; e < block.indptr[d + 1]; ++e) {
      const int64_t source = block.indices[e];
      for (int64_t c = 0; c < columns; ++c) {
        if (values[source][c] > values[winner[d][c]][c]) winner[d][c] = source;
      }
    }
  }
  return rows.gather(0, winners);
}

// z [D, out] of a layer whose vertices send relu(Q x + q).
torch::Tensor PooledLayer(const ModelOptions& options, const BlockView& block,
                          const torch::Tensor& x,
                          const std::vector<torch::Tensor>& parameters) {
  const torch::Tensor messages =
      torch::relu(torch::mm(x, parameters[0].t()) + parameters[1]);
  torch::Tensor aggregates;
  if (options.kind == "pinsage") {
    const torch::Tensor visits = NeighborMatrix(block, block.weights);
    const torch::Tensor sums = visits.sum(1, /*keepdim=*/true);
    aggregates = torch::mm(visits, messages) /
                 torch::where(sums > 0, sums, torch::ones_like(sums));
  } else {
    aggregates = LargestOfNeighbors(block, messages);
  }
  const torch::Tensor own = x.slice(0, 0, block.num_destinations);
  return torch::mm(aggregates, parameters[2].t()) +
         torch::mm(own, parameters[3].t()) + parameters[4];
}

// What a flat array of ones becomes.
torch::Tensor Mask(double rate, PhiloxKey key, at::IntArrayRef shape) {
  torch::Tensor mask = torch::ones(shape, torch::kFloat32);
  ApplyDropout(Dropout::Of(rate, key), 0, mask.numel(), mask.data_ptr<float>());
  return mask.to(torch::kFloat64);
}

PhiloxKey KeyOf(const TrainingBatch& batch, uint32_t hop) {
  return MakePhiloxKey(batch.seed, batch.epoch, batch.batch, hop,
                       Purpose::kDropout);
}

// Sources and destinations of edges, [E] each: a vertex's to itself comes
// before its neighbours'.
std::pair<torch::Tensor, torch::Tensor> EdgesWithLoops(const BlockView& block) {
  std::vector<int64_t> sources;
  std::vector<int64_t> destinations;
  for (uint32_t d = 0; d < block.num_destinations; ++d) {
    sources.push_back(d);
    sources.insert(sources.end(), block.indices.begin() + block.indptr[d],
                   block.indices.begin() + block.indptr[d + 1]);
    destinations.resize(sources.size(), d);
  }
  return {torch::tensor(sources), torch::tensor(destinations)};
}

// As the paper has it: f64 holds the exponentials of scores this small.
torch::Tensor GatLayer(const BlockView& block, const torch::Tensor& x,
                       double dropout, PhiloxKey key,
                       const std::vector<torch::Tensor>& parameters) {
  const std::pair<torch::Tensor, torch::Tensor> edges = EdgesWithLoops(block);
  const torch::Tensor& sources = edges.first;
  const torch::Tensor& destinations = edges.second;
  const int64_t heads = parameters[1].size(1);
  const int64_t columns = parameters[1].size(2);
  const torch::Tensor messages =
      torch::mm(x, parameters[0].t()).view({-1, heads, columns});
  const torch::Tensor scores = torch::leaky_relu(
      (messages * parameters[1]).sum(2).index_select(0, sources) +
          (messages * parameters[2]).sum(2).index_select(0, destinations),
      0.2);
  const torch::Tensor exponentials = torch::exp(scores);  // [E, H]
  const auto sum_of = [&](const torch::Tensor& values) {
    std::vector<int64_t> shape = values.sizes().vec();
    shape[0] = block.num_destinations;
    return torch::zeros(shape, torch::kFloat64)
        .index_add(0, destinations, values);
  };
  const torch::Tensor alpha =
      exponentials / sum_of(exponentials).index_select(0, destinations) *
      Mask(dropout, key, scores.sizes());
  return sum_of(alpha.unsqueeze(2) * messages.index_select(0, sources))
             .flatten(1) +
         parameters[3];
}

// As the paper has it, of degrees d [S, 1]; those that were drawn stand for
// all neighbours.
torch::Tensor DegreeNormLayer(const BlockView& block, const torch::Tensor& x,
                              const torch::Tensor& d,
                              const std::vector<torch::Tensor>& parameters) {
  const torch::Tensor own = x.slice(0, 0, block.num_destinations);
  const torch::Tensor own_d = d.slice(0, 0, block.num_destinations);
  const torch::Tensor neighbors = NeighborMatrix(block);
  const torch::Tensor drawn = neighbors.sum(1, /*keepdim=*/true).clamp_min(1);
  const torch::Tensor sums = torch::mm(neighbors, x / d.sqrt());
  return torch::mm(own / own_d + (own_d - 1) / drawn * sums / own_d.sqrt(),
                   parameters[0].t()) +
         parameters[1];
}

// z [D, out] of x [S, in] with degrees d [S, 1]; the parameters of one layer in
// their order.
torch::Tensor Layer(const ModelOptions& options, const BlockView& block,
                    const torch::Tensor& x, const torch::Tensor& d,
                    const std::vector<torch::Tensor>& parameters) {
  const std::string& kind = options.kind;
  if (options.transforms_messages()) {
    return PooledLayer(options, block, x, parameters);
  }
  if (options.divides_by_degrees()) {
    return DegreeNormLayer(block, x, d.slice(0, 0, x.size(0)), parameters);
  }
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

// What hidden layers make of z before dropout.
torch::Tensor Activation(const std::string& kind, const torch::Tensor& z) {
  const torch::Tensor rows = torch::relu(z);
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

}  // namespace

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
  x = x * Mask(options.input_dropout, KeyOf(batch, 0), x.sizes());
  const torch::Tensor degrees =
      torch::tensor(random.graph_indptr(), torch::kFloat64)
          .diff()
          .unsqueeze(1) +
      1;
  const size_t per_layer = of_convs / options.layers;
  for (uint32_t layer = 0; layer < options.layers; ++layer) {
    const BlockView& block = random.task().hops[options.layers - 1 - layer];
    const auto first =
        parameters.begin() + static_cast<ptrdiff_t>(layer * per_layer);
    const torch::Tensor own = x.slice(0, 0, block.num_destinations);
    const std::vector<torch::Tensor> of_layer(
        first, first + static_cast<ptrdiff_t>(per_layer));
    x = options.kind == "gat"
            ? GatLayer(block, x, options.attention_dropout,
                       KeyOf(batch, uint32_t{kMaxHops} + 1 + layer), of_layer)
            : Layer(options, block, x, degrees, of_layer);
    if (options.normalizes(layer)) {
      x = Normalize(options.normalization, layer, x, &by_name);
    }
    if (options.adds_inputs(layer)) x = x + own;
    if (layer + 1 < options.layers) {
      x = Activation(options.kind, x) *
          Mask(options.dropout, KeyOf(batch, layer + 1), x.sizes());
    }
  }
  const Loss loss = options.predicts_links() ? LossOfPairs(random.task(), x)
                    : options.has_targets()
                        ? LossOfTargets(random, x, options.objective)
                        : LossOfSeeds(random, x, options.label_smoothing);
  loss.mean.backward();
  std::vector<torch::Tensor> gradients;
  for (const torch::Tensor& parameter : parameters) {
    gradients.push_back(parameter.grad().flatten());
  }
  return {loss.mean.item<double>(), loss.num_correct, torch::cat(gradients)};
}

}  // namespace fgnn
