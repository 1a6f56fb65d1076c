// Models and batches whose gradients are compared with PyTorch's autograd, on
// every kind of device.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_AUTOGRAD_CASES_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_AUTOGRAD_CASES_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/unit/trainer_service/nn/random_batch.h"
#include "trainer_service/nn/product_order.h"

namespace fgnn {

struct Case {
  std::string name;
  RandomBatchOptions options;
};

inline Case MakeCase(std::string name, uint32_t layers, uint64_t columns,
                     uint32_t hidden, uint32_t classes) {
  Case made;
  made.name = std::move(name);
  made.options.model.layers = layers;
  made.options.model.input_columns = columns;
  made.options.model.hidden = hidden;
  made.options.model.num_classes = classes;
  return made;
}

inline std::vector<Case> CasesOfAnyDevice() {
  std::vector<Case> cases;
  cases.push_back(MakeCase("OneLayer", 1, 13, 1, 3));
  cases.push_back(MakeCase("TwoLayers", 2, 17, 9, 4));
  cases.push_back(MakeCase("WideInput", 2, 211, 8, 7));
  cases.push_back(MakeCase("ThreeLayers", 3, 40, 33, 47));
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
  return cases;
}

// Those without normalisation and residuals, which PinSAGE does not have.
inline std::vector<Case> WithoutNorm(std::vector<Case> cases) {
  std::erase_if(cases, [](const Case& made) {
    return made.options.model.residual ||
           made.options.model.normalization != "none";
  });
  return cases;
}

// Adds to the cases the shapes that attention has of its own.
inline std::vector<Case> WithAttention(std::vector<Case> cases) {
  cases.push_back(MakeCase("ThreeHeads", 3, 20, 33, 5));
  cases.back().options.model.heads = 3;
  cases.push_back(MakeCase("HeadsOfOneColumn", 2, 20, 11, 5));
  cases.back().options.model.heads = 11;
  cases.push_back(MakeCase("EightHeads", 2, 40, 64, 7));
  cases.push_back(MakeCase("AttentionDropout", 3, 20, 72, 13));
  cases.back().options.model.dropout = 0.5;
  cases.back().options.model.attention_dropout = 0.6;
  return cases;
}

// A kind of model, or one of "pool" and "gcn_right".
using Parameters = std::tuple<std::string, Case, ProductOrder>;

inline RandomBatchOptions OptionsOf(const Parameters& parameters,
                                    Precision precision) {
  RandomBatchOptions options = std::get<1>(parameters).options;
  ModelOptions& model = options.model;
  model.kind = std::get<0>(parameters);
  model.precision = precision;
  if (model.kind == "pool") {
    model.kind = "graphsage";
    model.aggregator = "pool";
  }
  if (model.kind == "gcn_right") {
    model.kind = "gcn";
    model.degree_norm = "right";
  }
  if (model.hidden % model.heads != 0) model.heads = 1;
  return options;
}

inline std::string NameOfCase(
    const testing::TestParamInfo<Parameters>& instance) {
  const auto& [kind, shape, order] = instance.param;
  const std::string name = kind + shape.name;
  if (order == ProductOrder::kCheapest) return name + "Cheapest";
  return name + (order == ProductOrder::kAggregateFirst ? "AggregateFirst"
                                                        : "TransformFirst");
}

// GraphSAGE of means, GCN and GIN have an order to choose.
inline auto OfSums(std::vector<Case> cases, std::vector<ProductOrder> orders) {
  return testing::Combine(
      testing::Values("graphsage", "gcn", "gcn_right", "gin"),
      testing::ValuesIn(std::move(cases)),
      testing::ValuesIn(std::move(orders)));
}

// The others make messages of all sources, whatever the order; of other kinds
// the cheapest order.
inline auto OfMessages(std::vector<std::string> kinds,
                       std::vector<Case> cases) {
  return testing::Combine(testing::ValuesIn(std::move(kinds)),
                          testing::ValuesIn(std::move(cases)),
                          testing::Values(ProductOrder::kCheapest));
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_AUTOGRAD_CASES_H_
