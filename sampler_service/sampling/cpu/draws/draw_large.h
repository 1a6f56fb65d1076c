// Draws of places for one destination with a large fanout or an in-degree of
// 2^32 and more, by the law of uniform_hops.h.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_DRAWS_DRAW_LARGE_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_DRAWS_DRAW_LARGE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "sampler_service/sampling/cpu/draws/place_set.h"
#include "shared/base/philox.h"
#include "shared/base/types.h"

namespace fgnn {

// Costs O(fanout), whatever the degree. Thread-compatible; allocates in its
// constructor only.
class LargeDraw {
 public:
  explicit LargeDraw(uint32_t max_fanout);

  // Draws `fanout` distinct places in [0, degree); fanout < degree, fanout <=
  // max_fanout. Valid until the next call.
  absl::Span<const uint64_t> Draw(PhiloxKey key, GlobalId v, uint64_t degree,
                                  uint32_t fanout);

  // Draws `fanout` places, any of which may repeat; degree >= 1.
  absl::Span<const uint64_t> DrawAny(PhiloxKey key, GlobalId v, uint64_t degree,
                                     uint32_t fanout);

  uint64_t workspace_bytes() const;

 private:
  std::vector<uint64_t> places_;  // [max_fanout]
  PlaceSet drawn_;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_DRAWS_DRAW_LARGE_H_
