#include "tests/unit/trainer_service/nn/autograd_layers.h"

#include <cstddef>
#include <string>

#include "trainer_service/nn/cpu/kernels/dropout.h"

namespace fgnn {
namespace {

// Sources and destinations of a block's edges, [E] each.
struct Edges {
  torch::Tensor sources;
  torch::Tensor destinations;
};

// With `loops` a vertex's edge to itself comes before its neighbours'.
Edges EdgesOf(const BlockView& block, bool loops) {
  std::vector<int64_t> sources;
  std::vector<int64_t> destinations;
  for (uint32_t d = 0; d < block.num_destinations; ++d) {
    if (loops) sources.push_back(d);
    sources.insert(sources.end(), block.indices.begin() + block.indptr[d],
                   block.indices.begin() + block.indptr[d + 1]);
    destinations.resize(sources.size(), d);
  }
  return {torch::tensor(sources, torch::kInt64),
          torch::tensor(destinations, torch::kInt64)};
}

// [D, ..] The sums over destinations of what edges [E, ..] have.
torch::Tensor SumOfEdges(const BlockView& block, const Edges& edges,
                         const torch::Tensor& values) {
  std::vector<int64_t> shape = values.sizes().vec();
  shape[0] = block.num_destinations;
  return torch::zeros(shape, torch::kFloat64)
      .index_add(0, edges.destinations, values);
}

// [E, 1] What the edges weigh.
torch::Tensor WeightsOf(const BlockView& block) {
  const std::vector<double> weights(block.weights.begin(), block.weights.end());
  return weights.empty()
             ? torch::ones({static_cast<int64_t>(block.indices.size()), 1},
                           torch::kFloat64)
             : torch::tensor(weights, torch::kFloat64).unsqueeze(1);
}

// [D, columns] The largest of messages [S, columns], 0 at least, over a
// destination's neighbours: of the source that is the first to have it.
torch::Tensor LargestOfNeighbors(const BlockView& block,
                                 const torch::Tensor& messages, Pass* pass) {
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
  return rows.gather(0, pass->SideOf(winners));
}

// z [D, out] of a layer whose vertices send relu(Q x + q).
torch::Tensor PooledLayer(const ModelOptions& options, const BlockView& block,
                          const torch::Tensor& x,
                          const std::vector<torch::Tensor>& parameters,
                          Pass* pass) {
  const torch::Tensor messages = pass->Stored(
      pass->Bend(torch::mm(x, parameters[0].t()) + parameters[1], 0));
  torch::Tensor aggregates;
  if (options.kind == "pinsage") {
    const Edges edges = EdgesOf(block, /*loops=*/false);
    const torch::Tensor visits = WeightsOf(block);
    const torch::Tensor sums = SumOfEdges(block, edges, visits);
    aggregates = SumOfEdges(block, edges,
                            visits * messages.index_select(0, edges.sources)) /
                 torch::where(sums > 0, sums, torch::ones_like(sums));
  } else {
    aggregates = LargestOfNeighbors(block, messages, pass);
  }
  const torch::Tensor own = x.slice(0, 0, block.num_destinations);
  return torch::mm(pass->Stored(aggregates), parameters[2].t()) +
         torch::mm(own, parameters[3].t()) + parameters[4];
}

// As the paper has it: f64 holds the exponentials of scores this small.
torch::Tensor GatLayer(const BlockView& block, const torch::Tensor& x,
                       double dropout, PhiloxKey key,
                       const std::vector<torch::Tensor>& parameters,
                       Pass* pass) {
  const Edges edges = EdgesOf(block, /*loops=*/true);
  const int64_t heads = parameters[1].size(1);
  const int64_t columns = parameters[1].size(2);
  const torch::Tensor messages =
      pass->Stored(torch::mm(x, parameters[0].t())).view({-1, heads, columns});
  const torch::Tensor scores = pass->Bend(
      (messages * parameters[1]).sum(2).index_select(0, edges.sources) +
          (messages * parameters[2]).sum(2).index_select(0, edges.destinations),
      0.2);
  const torch::Tensor exponentials = torch::exp(scores);  // [E, H]
  const torch::Tensor alpha = exponentials /
                              SumOfEdges(block, edges, exponentials)
                                  .index_select(0, edges.destinations) *
                              DropoutMask(dropout, key, scores.sizes());
  return SumOfEdges(
             block, edges,
             alpha.unsqueeze(2) * messages.index_select(0, edges.sources))
             .flatten(1) +
         parameters[3];
}

// [D, ..] What vertices with degrees d [S, 1] sum of rows x [S, ..].
torch::Tensor SumOfRows(const ModelOptions& options, const BlockView& block,
                        const torch::Tensor& d,
                        const std::vector<torch::Tensor>& parameters,
                        const torch::Tensor& x) {
  const Edges edges = EdgesOf(block, /*loops=*/false);
  const auto sum = [&](const torch::Tensor& rows) {
    return SumOfEdges(block, edges, rows.index_select(0, edges.sources));
  };
  const torch::Tensor drawn = sum(torch::ones_like(d));
  const torch::Tensor own = x.slice(0, 0, block.num_destinations);
  if (options.kind == "gin") return (1 + parameters[0]) * own + sum(x);
  if (options.kind == "graphsage") return sum(x) / drawn.clamp_min(1);
  if (!options.divides_by_degrees()) return (own + sum(x)) / (drawn + 1);
  // As the paper has it; those that were drawn stand for all neighbours.
  const torch::Tensor own_d = d.slice(0, 0, block.num_destinations);
  return own / own_d +
         (own_d - 1) / drawn.clamp_min(1) * sum(x / d.sqrt()) / own_d.sqrt();
}

// z [D, out] of sums and of rows x [S, in], with degrees d [S, 1].
torch::Tensor SumsLayer(const ModelOptions& options, const BlockView& block,
                        const LayerRows& x, const torch::Tensor& d,
                        bool transforms_first,
                        const std::vector<torch::Tensor>& parameters,
                        Pass* pass) {
  const std::string& kind = options.kind;
  const torch::Tensor weight = parameters[kind == "gin" ? 1 : 0].t();
  const auto sum = [&](const torch::Tensor& rows) {
    return SumOfRows(options, block, d, parameters, rows);
  };
  const torch::Tensor z = transforms_first
                              ? sum(pass->Stored(torch::mm(x.stored, weight)))
                              : torch::mm(pass->Stored(sum(x.summed)), weight);
  if (kind == "gcn") return z + parameters[1];
  if (kind == "gin") {
    const torch::Tensor hidden = pass->Stored(pass->Bend(z + parameters[2], 0));
    return torch::mm(hidden, parameters[3].t()) + parameters[4];
  }
  const torch::Tensor own = x.stored.slice(0, 0, block.num_destinations);
  return z + torch::mm(own, parameters[1].t()) + parameters[2];
}

}  // namespace

torch::Tensor LayerByTorch(const ModelOptions& options, ProductOrder order,
                           uint32_t layer, RandomBatch& random,
                           const LayerRows& x,
                           const std::vector<torch::Tensor>& parameters,
                           Pass* pass) {
  const BlockView& block = random.task().hops[options.layers - 1 - layer];
  if (options.kind == "gat") {
    return GatLayer(block, x.stored, options.attention_dropout,
                    DropoutKey(random.batch(), uint32_t{kMaxHops} + 1 + layer),
                    parameters, pass);
  }
  if (options.transforms_messages()) {
    return PooledLayer(options, block, x.stored, parameters, pass);
  }
  const torch::Tensor d =
      torch::tensor(random.graph_indptr(), torch::kFloat64).diff() + 1;
  const torch::Tensor& weight = parameters[options.kind == "gin" ? 1 : 0];
  const size_t own = options.kind == "graphsage" ? 0 : block.num_destinations;
  const bool transforms_first =
      TransformsFirst(order, {weight.size(1), weight.size(0), layer == 0},
                      block, static_cast<double>(block.indices.size() + own));
  return SumsLayer(options, block, x,
                   d.slice(0, 0, block.num_sources).unsqueeze(1),
                   transforms_first, parameters, pass);
}

torch::Tensor DropoutMask(double rate, PhiloxKey key, at::IntArrayRef shape) {
  torch::Tensor mask = torch::ones(shape, torch::kFloat32);
  ApplyDropout(Dropout::Of(rate, key), 0, mask.numel(), mask.data_ptr<float>());
  return mask.to(torch::kFloat64);
}

PhiloxKey DropoutKey(const TrainingBatch& batch, uint32_t hop) {
  return MakePhiloxKey(batch.seed, batch.epoch, batch.batch, hop,
                       Purpose::kDropout);
}

}  // namespace fgnn
