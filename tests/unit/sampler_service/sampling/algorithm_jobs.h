// Every sampling algorithm, with the options that change its distribution.
#ifndef FGNN_TESTS_UNIT_SAMPLER_SERVICE_SAMPLING_ALGORITHM_JOBS_H_
#define FGNN_TESTS_UNIT_SAMPLER_SERVICE_SAMPLING_ALGORITHM_JOBS_H_

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/reference/random_graph.h"
#include "tests/unit/sampler_service/sampling/sampler_case.h"

namespace fgnn {

struct Algorithm {
  std::string name;
  SamplingAlgorithm algorithm = SamplingAlgorithm::kUniform;
  bool replace = false;
  bool resample = true;
};

inline std::vector<Algorithm> Algorithms() {
  using enum SamplingAlgorithm;
  return {{"Uniform", kUniform},
          {"UniformWithReplacement", kUniform, true},
          {"UniformWithoutResampling", kUniform, false, false},
          {"Weighted", kWeighted},
          {"WeightedWithReplacement", kWeighted, true},
          {"WeightedWithoutResampling", kWeighted, false, false},
          {"Labor", kLabor},
          {"LaborWithoutResampling", kLabor, false, false},
          {"RandomWalk", kRandomWalk},
          {"RandomWalkWithoutResampling", kRandomWalk, false, false}};
}

// Returns weights of every kind: equal ones, weights spread over six powers of
// ten, some zeros, one that is larger than the sum of the others. No list has
// only zeros.
inline std::vector<float> RandomWeights(const reference::CscGraph& graph,
                                        uint64_t seed) {
  reference::TestDraws draws(seed + 3000);
  std::vector<float> weights;
  for (const std::vector<uint32_t>& list : graph.lists()) {
    const uint64_t kind = draws.Below(4);
    const size_t first = weights.size();
    for (size_t i = 0; i < list.size(); ++i) {
      const double spread = 6 * static_cast<double>(draws.Below(1000)) / 1000;
      weights.push_back(kind == 0   ? 1.0F
                        : kind == 1 ? static_cast<float>(std::pow(10, spread))
                        : kind == 2 ? static_cast<float>(draws.Below(3))
                                    : 1e-3F);
    }
    if (!list.empty()) {
      weights[first + draws.Below(list.size())] = kind == 3 ? 1e6F : 1.0F;
    }
  }
  return weights;
}

inline reference::Job RandomJobOf(const Algorithm& algorithm,
                                  const reference::CscGraph& graph,
                                  uint64_t seed) {
  reference::Job job =
      RandomJob(static_cast<uint32_t>(graph.lists().size()), seed);
  job.options.algorithm = algorithm.algorithm;
  job.options.replace = algorithm.replace;
  job.options.resample = algorithm.resample;
  if (algorithm.algorithm == SamplingAlgorithm::kWeighted) {
    job.weights = RandomWeights(graph, seed);
  }
  if (algorithm.algorithm == SamplingAlgorithm::kRandomWalk) {
    reference::TestDraws draws(seed + 4000);
    job.options.walks = {.num_walks = 1 + static_cast<uint32_t>(draws.Below(9)),
                         .length = 1 + static_cast<uint32_t>(draws.Below(5)),
                         .restart = static_cast<double>(draws.Below(4)) / 4};
    for (int32_t& fanout : job.options.fanouts) {
      fanout = 1 + static_cast<int32_t>(draws.Below(8));
    }
  }
  return job;
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SAMPLER_SERVICE_SAMPLING_ALGORITHM_JOBS_H_
