#include "tools/bench/hot_ranks.h"

#include "absl/strings/str_cat.h"
#include "sampler_service/presample/hotness.h"
#include "sampler_service/presample/input_node_counts.h"
#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "shared/base/status.h"

namespace fgnn {

absl::StatusOr<std::vector<uint32_t>> PrescRanks(const SamplerInput& input,
                                                 SamplerOptions sampling,
                                                 uint32_t threads) {
  sampling.seed = kPresampleSeed;
  FGNN_ASSIGN_OR_RETURN(
      const std::vector<uint32_t> counts,
      CountInputNodes(
          input, sampling,
          {.batches = {BatchSeq(0),
                       BatchSeq(BatchesPerEpoch(NumExamples(input, sampling),
                                                sampling.batch_size))},
           .num_threads = threads,
           .factory = NewCpuSampler,
           .check = nullptr}));
  FGNN_ASSIGN_OR_RETURN(const std::vector<uint32_t> out_degrees,
                        OutDegrees(input.graph));
  const std::vector<GlobalId> order = OrderByHotness(
      std::vector<float>(counts.begin(), counts.end()), out_degrees);
  std::vector<uint32_t> ranks(order.size());
  for (uint32_t rank = 0; rank < order.size(); ++rank) {
    ranks[order[rank]] = rank;
  }
  return ranks;
}

absl::Status CheckCacheShares(const char* flag,
                              absl::Span<const double> shares) {
  for (const double share : shares) {
    if (!(share >= 0 && share <= 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat(flag, " holds ", share,
                       "; give shares of the vertices, from 0 to 1"));
    }
  }
  return absl::OkStatus();
}

}  // namespace fgnn
