#include "tools/bench/algorithm.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sampler_service/sampling/cpu/khop_sampler.h"

namespace fgnn {

std::vector<std::string> BenchAlgorithms() { return {"khop"}; }

absl::StatusOr<SamplerFactory> BenchSamplerFactory(
    const std::string& algorithm) {
  if (algorithm == "khop") return SamplerFactory(NewCpuKhopSampler);
  return absl::InvalidArgumentError(
      absl::StrCat("--algorithm is '", algorithm, "'; this build has ",
                   absl::StrJoin(BenchAlgorithms(), ", ")));
}

}  // namespace fgnn
