// The models that a GPU has, and random batches for them.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_CUDA_CUDA_MODEL_KINDS_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_CUDA_CUDA_MODEL_KINDS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/trainer_service/nn/random_batch.h"
#include "tests/unit/trainer_service/nn/small_model.h"

namespace fgnn {

struct Kind {
  std::string name;
  std::string kind;
  std::string degree_norm = "both";
  Precision precision = Precision::kFloat32;
  std::string normalization = "none";
  bool residual = false;
  Objective objective = Objective::kClasses;
  std::string aggregator = "mean";
};

inline Kind Pool(std::string name, Precision precision) {
  Kind kind{std::move(name), "graphsage", "both", precision};
  kind.aggregator = "pool";
  return kind;
}

class CudaModelTest : public testing::TestWithParam<Kind> {
 protected:
  RandomBatchOptions BatchOf(uint32_t num_seeds) const {
    RandomBatchOptions options;
    options.model = SmallModel();
    options.model.kind = GetParam().kind;
    options.model.degree_norm = GetParam().degree_norm;
    options.model.precision = GetParam().precision;
    options.model.normalization = GetParam().normalization;
    options.model.residual = GetParam().residual;
    options.model.objective = GetParam().objective;
    options.model.aggregator = GetParam().aggregator;
    options.num_seeds = num_seeds;
    options.edge_weights = GetParam().kind == "pinsage";
    if (options.model.predicts_links() && num_seeds > 0) {
      options.model.num_classes = 0;
      options.num_pairs = 2 * num_seeds;
      options.num_positives = num_seeds;
    }
    return options;
  }
};

inline std::vector<Kind> AllKinds() {
  return {Kind{"Sage", "graphsage"},
          Kind{"Gcn", "gcn"},
          Kind{"GcnRight", "gcn", "right"},
          Kind{"Gin", "gin"},
          Kind{"Gat", "gat"},
          Kind{"Pinsage", "pinsage"},
          Pool("Pool", Precision::kFloat32),
          Pool("PoolBfloat16", Precision::kBfloat16),
          Kind{"BatchNorm", "graphsage", "both", Precision::kFloat32, "batch",
               true},
          Kind{"Residual", "gcn", "both", Precision::kBfloat16, "none", true},
          Kind{"Links", "graphsage", "both", Precision::kFloat32, "none", false,
               Objective::kLinks},
          Kind{"Values", "gin", "both", Precision::kFloat32, "none", false,
               Objective::kValues},
          Kind{"LabelSets", "gat", "both", Precision::kBfloat16, "layer", true,
               Objective::kLabelSets},
          Kind{"GatBfloat16", "gat", "both", Precision::kBfloat16},
          Kind{"SageBfloat16", "graphsage", "both", Precision::kBfloat16},
          Kind{"GcnBfloat16", "gcn", "both", Precision::kBfloat16},
          Kind{"GinBfloat16", "gin", "both", Precision::kBfloat16},
          Kind{"PinsageBfloat16", "pinsage", "both", Precision::kBfloat16}};
}

inline std::string NameOfKind(const testing::TestParamInfo<Kind>& test) {
  return test.param.name;
}

inline RandomBatchOptions SageBatch() {
  RandomBatchOptions options;
  options.model = SmallModel();
  options.num_seeds = 20;
  return options;
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_CUDA_CUDA_MODEL_KINDS_H_
