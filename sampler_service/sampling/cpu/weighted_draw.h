// Draws of places by weight for one destination, by the law of
// weighted_hops.h.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_WEIGHTED_DRAW_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_WEIGHTED_DRAW_H_

#include <compare>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "sampler_service/sampling/alias_tables.h"
#include "sampler_service/sampling/cpu/adjacency_lists.h"
#include "sampler_service/sampling/cpu/draws/place_set.h"
#include "sampler_service/sampling/laws/weighted_law.h"
#include "sampler_service/sampling/progress.h"
#include "shared/base/philox.h"
#include "shared/base/types.h"

namespace fgnn {

// Thread-compatible; allocates in its constructor only. Borrows the tables.
class WeightedDraw {
 public:
  WeightedDraw(const AliasTables& weights, uint32_t max_fanout);

  // Draws `fanout` places, any of which may repeat; degree >= 1. Valid until
  // the next call.
  absl::Span<const uint64_t> DrawAny(PhiloxKey key, GlobalId v,
                                     const AdjacencyList& list,
                                     uint32_t fanout);

  // Draws `fanout` distinct places, or all places of positive weight if they
  // are fewer; fanout < degree. `drawn` has the results of the attempts before
  // `next`. Ticks at least every 2^16 neighbours. Valid until the next call.
  absl::Span<const uint64_t> Draw(PhiloxKey key, GlobalId v,
                                  const AdjacencyList& list, uint32_t fanout,
                                  absl::Span<const uint32_t> drawn,
                                  uint32_t next, Progress* progress);

  uint64_t workspace_bytes() const {
    return places_.capacity() * sizeof(uint64_t) +
           race_.capacity() * sizeof(Runner) + drawn_.workspace_bytes();
  }

 private:
  struct Runner {
    double time;
    uint64_t place;
    friend auto operator<=>(const Runner&, const Runner&) = default;
  };

  uint64_t Alias(PhiloxHalves& draws, const AdjacencyList& list,
                 uint32_t attempt) const;
  // Adds the first `count` of the race's places that are not drawn yet.
  void Race(PhiloxKey key, GlobalId v, const AdjacencyList& list,
            uint32_t count, Progress* progress);

  const AliasCell* cells_;
  const float* weights_;
  PlaceSet drawn_;
  std::vector<uint64_t> places_;
  std::vector<Runner> race_;  // A heap with the slowest runner on top.
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_WEIGHTED_DRAW_H_
