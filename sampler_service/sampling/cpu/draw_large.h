// Draws of distinct places for one destination with a large fanout or an
// in-degree of 2^32 and more, by the law of sampling/sampler.h.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_DRAW_LARGE_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_DRAW_LARGE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "shared/base/philox.h"
#include "shared/base/types.h"

namespace fgnn {

// Costs O(fanout), whatever the degree. Thread-compatible; allocates in its
// constructor only.
class LargeDraw {
 public:
  explicit LargeDraw(uint32_t max_fanout);

  // fanout distinct places in [0, degree), fanout < degree, fanout <=
  // max_fanout. Valid until the next call.
  absl::Span<const uint64_t> Draw(PhiloxKey key, GlobalId v, uint64_t degree,
                                  uint32_t fanout);

  uint64_t workspace_bytes() const;

 private:
  bool Insert(uint64_t place);  // False: it is there already.

  std::vector<uint64_t> places_;  // [max_fanout]
  // Open addressing: place + 1, or 0. At most half full.
  std::vector<uint64_t> table_;
  int shift_ = 0;  // Of a 64-bit hash to the part of table_ in use.
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_DRAW_LARGE_H_
