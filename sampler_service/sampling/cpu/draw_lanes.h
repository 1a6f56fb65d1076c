// Draws of distinct places for many destinations side by side, by the law of
// sampling/sampler.h. One destination per lane: Philox and Floyd's algorithm
// have no branch that depends on the data, so they run in vector registers.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_DRAW_LANES_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_DRAW_LANES_H_

#include <cstdint>
#include <vector>

#include "shared/base/philox.h"
#include "shared/base/types.h"

namespace fgnn {

inline constexpr uint32_t kDrawLanes = 128;
// Lanes are worked on in groups of this size.
inline constexpr uint32_t kLaneGroup = 16;
// Floyd's algorithm compares each draw with all before it; beyond this many a
// hash table is cheaper (draw_large.h).
inline constexpr uint32_t kMaxLaneFanout = 64;

// In and out of a draw: 33 KiB, so that it stays in the nearest caches.
struct alignas(64) LaneDraws {
  GlobalId global_ids[kDrawLanes] = {};
  uint32_t degrees[kDrawLanes] = {};            // Each above the fanout.
  uint32_t places[kMaxLaneFanout][kDrawLanes];  // [fanout] are filled.
};

// Fills places of the first `num_lanes` lanes (rounded up to whole groups: the
// values in the rest are without meaning). fanout in [1, kMaxLaneFanout].
using DrawLanesFn = void (*)(PhiloxKey key, uint32_t fanout, uint32_t num_lanes,
                             LaneDraws* draws);

// The same function for the instruction sets of x86; equal in every bit.
void DrawLanesPortable(PhiloxKey key, uint32_t fanout, uint32_t num_lanes,
                       LaneDraws* draws);
void DrawLanesAvx2(PhiloxKey key, uint32_t fanout, uint32_t num_lanes,
                   LaneDraws* draws);
void DrawLanesAvx512(PhiloxKey key, uint32_t fanout, uint32_t num_lanes,
                     LaneDraws* draws);

struct NamedDrawLanes {
  const char* name;
  DrawLanesFn draw;
};
// What this machine can run, fastest first; never empty.
std::vector<NamedDrawLanes> SupportedDrawLanes();

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_DRAW_LANES_H_
