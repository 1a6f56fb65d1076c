// Creates a HopSampler for the type of indices that a graph has.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_NEW_HOPS_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_NEW_HOPS_H_

#include <memory>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "sampler_service/sampling/cpu/hop_sampler.h"

namespace fgnn {

// Returns Hops<uint32_t> or Hops<int64_t>, made from (options, indices).
// ResourceExhausted: no memory for the workspace.
template <template <typename Index> class Hops>
absl::StatusOr<std::unique_ptr<HopSampler>> NewHops(
    const HopsOptions& options) {
  return std::visit(
      [&](auto indices) -> absl::StatusOr<std::unique_ptr<HopSampler>> {
        using Index = typename decltype(indices)::value_type;
        auto hops = std::make_unique<Hops<Index>>(options, indices);
        if (hops->has_memory()) return hops;
        return absl::ResourceExhaustedError(absl::StrCat(
            "no memory for a sampler's workspace of ", hops->workspace_bytes(),
            " bytes; lower sampling.threads or sampling.batch_size"));
      },
      options.input.graph.indices);
}

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_NEW_HOPS_H_
