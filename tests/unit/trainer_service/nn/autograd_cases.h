// Models and batches whose gradients are compared with PyTorch's autograd, on
// every kind of device.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_AUTOGRAD_CASES_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_AUTOGRAD_CASES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/trainer_service/nn/random_batch.h"

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

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_AUTOGRAD_CASES_H_
