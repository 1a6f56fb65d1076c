// Draws for many destinations side by side, one destination per lane: Philox
// and Floyd's algorithm have no branch that depends on the data, so they run in
// vector registers. The laws are in uniform_hops.h, weighted_hops.h and
// labor_hops.h.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_DRAWS_DRAW_LANES_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_DRAWS_DRAW_LANES_H_

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

// In and out of a draw: 65 KiB, of which few are touched at usual fanouts.
struct alignas(64) LaneDraws {
  GlobalId global_ids[kDrawLanes] = {};
  uint32_t degrees[kDrawLanes] = {};
  uint32_t places[kMaxLaneFanout][kDrawLanes];  // [num_draws] are filled.
  uint32_t coins[kMaxLaneFanout][kDrawLanes];   // By draw_any.
  uint32_t repeats[kDrawLanes];                 // By find_repeats.
};

// Makes num_draws, in [1, kMaxLaneFanout], for the first `num_lanes` lanes
// (rounded up to whole groups: the values in the rest are without meaning).
using DrawLanesFn = void (*)(PhiloxKey key, uint32_t num_draws,
                             uint32_t num_lanes, LaneDraws* draws);

// Sets bit j of a lane's `repeats` where its place j is one of places 0 .. j-1,
// for the first num_draws, at most 32.
using FindRepeatsFn = void (*)(uint32_t num_draws, uint32_t num_lanes,
                               LaneDraws* draws);

// Writes the places i in [0, size) with word 0 of Philox block {ids[i], 0, 0,
// 0} below `limit` to `places`, ascending; returns how many they are. `places`
// has room for size + kLaneGroup.
using SelectBelowFn = uint32_t (*)(PhiloxKey key, uint32_t limit,
                                   const uint32_t* ids, uint32_t size,
                                   uint32_t* places);

struct LaneFunctions {
  const char* name;
  // Floyd's algorithm: places distinct; degrees above num_draws.
  DrawLanesFn draw_distinct;
  // place = UniformBelow(draw, degree); coin = the 32 bits of draw * degree
  // below the place's; degrees at least 1.
  DrawLanesFn draw_any;
  FindRepeatsFn find_repeats;
  SelectBelowFn select_below;
};
// The same functions for each instruction set that this machine can run, equal
// in every bit; fastest first, never empty.
std::vector<LaneFunctions> SupportedDrawLanes();

// Those of each; called only where SupportedDrawLanes() has them.
extern const LaneFunctions kLanesPortable;
extern const LaneFunctions kLanesAvx2;
extern const LaneFunctions kLanesAvx512;

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_DRAWS_DRAW_LANES_H_
