// The sampling algorithms that can be measured, by the names of sampling.kind.
#ifndef FGNN_TOOLS_BENCH_ALGORITHM_H_
#define FGNN_TOOLS_BENCH_ALGORITHM_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sampler_service/sampling/sampler.h"

namespace fgnn {

std::vector<std::string> BenchAlgorithms();

// InvalidArgument naming --algorithm and the known ones.
absl::StatusOr<SamplerFactory> BenchSamplerFactory(
    const std::string& algorithm);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_ALGORITHM_H_
