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

// Arguments and results of a draw: 65 KiB, of which few are touched at usual
// fanouts.
struct alignas(64) LaneDraws {
  GlobalId global_ids[kDrawLanes] = {};
  uint32_t degrees[kDrawLanes] = {};
  // Places; the first [num_draws] are filled.
  uint32_t places[kMaxLaneFanout][kDrawLanes];
  uint32_t coins[kMaxLaneFanout][kDrawLanes];  // Coins; written by draw_any.
  uint32_t repeats[kDrawLanes];  // Repeats; written by find_repeats.
};

// Makes num_draws draws, in [1, kMaxLaneFanout], for the first `num_lanes`
// lanes. num_lanes is rounded up to whole groups; the values of the added lanes
// have no meaning.
using DrawLanesFn = void (*)(PhiloxKey key, uint32_t num_draws,
                             uint32_t num_lanes, LaneDraws* draws);

// Sets bit j of a lane's `repeats` where its place j is one of places 0 .. j-1,
// for the first num_draws places, at most 32.
using FindRepeatsFn = void (*)(uint32_t num_draws, uint32_t num_lanes,
                               LaneDraws* draws);

// Writes the places i in [0, size) for which word 0 of Philox block {ids[i], 0,
// 0, 0} is below `limit` to `places`, ascending. Returns how many they are.
// `places` has room for size + kLaneGroup.
using SelectBelowFn = uint32_t (*)(PhiloxKey key, uint32_t limit,
                                   const uint32_t* ids, uint32_t size,
                                   uint32_t* places);

struct LaneFunctions {
  const char* name;
  // Draws distinct places by Floyd's algorithm; degrees are above num_draws.
  DrawLanesFn draw_distinct;
  // Draws places that may repeat: place = UniformBelow(draw, degree). The coin
  // is the 32 bits of draw * degree below the place's bits. Degrees are at
  // least 1.
  DrawLanesFn draw_any;
  FindRepeatsFn find_repeats;
  SelectBelowFn select_below;
};
// Returns the same functions for each instruction set that this machine can
// run. Their results are equal in every bit. The fastest is first; the list is
// never empty.
std::vector<LaneFunctions> SupportedDrawLanes();

// The functions of each instruction set. They may be called only where
// SupportedDrawLanes() has them.
extern const LaneFunctions kLanesPortable;
extern const LaneFunctions kLanesAvx2;
extern const LaneFunctions kLanesAvx512;

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_DRAWS_DRAW_LANES_H_
