// The bodies of LaneFunctions, compiled once per instruction set in a
// translation unit of its own. Everything is in an anonymous namespace, and no
// inline function of another header is called. The linker would keep one copy
// of such a function, maybe one that this machine cannot run.
//
// `Vec` has kWidth 64-bit lanes:
//   Load, Store       from and to 2 * kWidth aligned uint32_t
//   Set(x)            x in every lane
//   MulLow(a, b)      product of the low halves
//   High(a)           a >> 32
//   Low(a)            a & 0xffffffff
//   PackHigh(a, b)    High(a) | b & ~0xffffffff
//   PackLow(a, b)     a & 0xffffffff | b << 32
//   Xor(a, b, c), Add(a, b)
//   AppendBelow(words, limit, first, places)
//                     writes first + i for each of the kLaneGroup aligned
//                     words[i] below limit, ascending; returns how many. It may
//                     write rubbish behind them, up to kLaneGroup in all.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CPU_DRAWS_DRAW_LANES_BODY_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CPU_DRAWS_DRAW_LANES_BODY_H_

#include "sampler_service/sampling/cpu/draws/draw_lanes.h"

namespace fgnn {
namespace {

// One Philox block per lane. The words' upper halves hold rubbish, which no
// operation below looks at.
template <typename Vec>
struct VecBlock {
  typename Vec::Register words[4];
};

// The keys of all rounds, spread over the lanes once for many blocks.
template <typename Vec>
struct RoundKeys {
  explicit RoundKeys(PhiloxKey key) {
    for (int round = 0; round < 10; ++round) {
      words0[round] = Vec::Set(key.word0);
      words1[round] = Vec::Set(key.word1);
      key.word0 += 0x9E3779B9u;
      key.word1 += 0xBB67AE85u;
    }
  }
  typename Vec::Register words0[10];
  typename Vec::Register words1[10];
};

template <typename Vec>
inline __attribute__((always_inline)) VecBlock<Vec> PhiloxVec(
    typename Vec::Register id, uint32_t block, const RoundKeys<Vec>& keys) {
  using Register = typename Vec::Register;
  const Register m0 = Vec::Set(0xD2511F53u);
  const Register m1 = Vec::Set(0xCD9E8D57u);
  Register x0 = id;
  Register x1 = Vec::Set(block);
  Register x2 = Vec::Set(0);
  Register x3 = Vec::Set(0);
  for (int round = 0; round < 10; ++round) {
    const Register p0 = Vec::MulLow(m0, x0);
    const Register p1 = Vec::MulLow(m1, x2);
    x0 = Vec::Xor(Vec::High(p1), x1, keys.words0[round]);
    x1 = p1;
    x2 = Vec::Xor(Vec::High(p0), x3, keys.words1[round]);
    x3 = p0;
  }
  return {{x0, x1, x2, x3}};
}

// (high:low * range) >> 32 for a 32-bit range: the upper half is
// UniformBelow(high:low, range), the lower one a coin.
template <typename Vec>
inline __attribute__((always_inline)) typename Vec::Register BelowShifted(
    typename Vec::Register high, typename Vec::Register low,
    typename Vec::Register range) {
  return Vec::Add(Vec::MulLow(high, range), Vec::High(Vec::MulLow(low, range)));
}

// Makes draws 2 * block and 2 * block + 1 of every lane. With kDistinct they
// are in the ranges of Floyd's algorithm, but not yet distinct.
template <typename Vec, bool kDistinct>
inline __attribute__((always_inline)) void DrawBlock(const RoundKeys<Vec>& keys,
                                                     uint32_t num_draws,
                                                     uint32_t block,
                                                     uint32_t num_lanes,
                                                     LaneDraws* draws) {
  using Register = typename Vec::Register;
  // The range of draw j is degree - num_draws + j + 1, below 2^32.
  const Register add0 = Vec::Set(kDistinct ? 2 * block + 1 - num_draws : 0);
  const Register add1 = Vec::Set(kDistinct ? 2 * block + 2 - num_draws : 0);
  for (uint32_t i = 0; i < num_lanes; i += 2 * Vec::kWidth) {
    const Register id = Vec::Load(draws->global_ids + i);
    const Register degree = Vec::Load(draws->degrees + i);
    const Register degree_odd = Vec::High(degree);
    const VecBlock<Vec> even = PhiloxVec<Vec>(id, block, keys);
    const VecBlock<Vec> odd = PhiloxVec<Vec>(Vec::High(id), block, keys);
    for (int half = 0; half < 2; ++half) {
      const Register add = half == 0 ? add0 : add1;
      const Register t_even =
          BelowShifted<Vec>(even.words[2 * half + 1], even.words[2 * half],
                            Vec::Add(degree, add));
      const Register t_odd =
          BelowShifted<Vec>(odd.words[2 * half + 1], odd.words[2 * half],
                            Vec::Add(degree_odd, add));
      Vec::Store(draws->places[2 * block + half] + i,
                 Vec::PackHigh(t_even, t_odd));
      if constexpr (!kDistinct) {
        Vec::Store(draws->coins[2 * block + half] + i,
                   Vec::PackLow(t_even, t_odd));
      }
    }
  }
}

// Replaces a draw that repeats an earlier one of its lane by degree - num_draws
// + j.
inline __attribute__((always_inline)) void MakeDistinct(uint32_t num_draws,
                                                        uint32_t num_lanes,
                                                        LaneDraws* draws) {
  for (uint32_t group = 0; group < num_lanes; group += kLaneGroup) {
    const uint32_t* const degrees = draws->degrees + group;
    for (uint32_t j = 1; j < num_draws; ++j) {
      uint32_t* const drawn = draws->places[j] + group;
      alignas(64) uint32_t repeats[kLaneGroup] = {};
      for (uint32_t earlier = 0; earlier < j; ++earlier) {
        const uint32_t* const before = draws->places[earlier] + group;
        for (uint32_t i = 0; i < kLaneGroup; ++i) {
          repeats[i] |= before[i] == drawn[i] ? ~uint32_t{0} : 0;
        }
      }
      for (uint32_t i = 0; i < kLaneGroup; ++i) {
        const uint32_t last = degrees[i] - num_draws + j;
        drawn[i] = (drawn[i] & ~repeats[i]) | (last & repeats[i]);
      }
    }
  }
}

void FindRepeats(uint32_t num_draws, uint32_t num_lanes, LaneDraws* draws) {
  for (uint32_t group = 0; group < num_lanes; group += kLaneGroup) {
    alignas(64) uint32_t bits[kLaneGroup] = {};
    for (uint32_t j = 1; j < num_draws; ++j) {
      const uint32_t* const drawn = draws->places[j] + group;
      alignas(64) uint32_t repeats[kLaneGroup] = {};
      for (uint32_t earlier = 0; earlier < j; ++earlier) {
        const uint32_t* const before = draws->places[earlier] + group;
        for (uint32_t i = 0; i < kLaneGroup; ++i) {
          repeats[i] |= before[i] == drawn[i] ? ~uint32_t{0} : 0;
        }
      }
      const uint32_t bit = uint32_t{1} << j;
      for (uint32_t i = 0; i < kLaneGroup; ++i) bits[i] |= repeats[i] & bit;
    }
    for (uint32_t i = 0; i < kLaneGroup; ++i)
      draws->repeats[group + i] = bits[i];
  }
}

template <typename Vec, bool kDistinct>
void DrawLanes(PhiloxKey key, uint32_t num_draws, uint32_t num_lanes,
               LaneDraws* draws) {
  static_assert(kLaneGroup % (2 * Vec::kWidth) == 0);
  const uint32_t rounded =
      (num_lanes + kLaneGroup - 1) / kLaneGroup * kLaneGroup;
  const RoundKeys<Vec> keys(key);
  for (uint32_t block = 0; 2 * block < num_draws; ++block) {
    DrawBlock<Vec, kDistinct>(keys, num_draws, block, rounded, draws);
  }
  if constexpr (kDistinct) MakeDistinct(num_draws, rounded, draws);
}

// AppendBelow() without instructions for it.
inline uint32_t AppendBelowPlain(const uint32_t* words, uint32_t limit,
                                 uint32_t first, uint32_t* places) {
  uint32_t size = 0;
  for (uint32_t i = 0; i < kLaneGroup; ++i) {
    places[size] = first + i;
    size += words[i] < limit ? 1 : 0;
  }
  return size;
}

template <typename Vec>
uint32_t SelectBelow(PhiloxKey key, uint32_t limit, const uint32_t* ids,
                     uint32_t size, uint32_t* places) {
  const RoundKeys<Vec> keys(key);
  alignas(64) uint32_t group[kLaneGroup];
  alignas(64) uint32_t words[kLaneGroup];
  uint32_t num_selected = 0;
  for (uint32_t first = 0; first < size; first += kLaneGroup) {
    const uint32_t left = size - first;
    if (left >= kLaneGroup) {
      __builtin_memcpy(group, ids + first, sizeof(group));
    } else {
      __builtin_memset(group, 0, sizeof(group));
      __builtin_memcpy(group, ids + first, left * sizeof(*ids));
    }
    for (uint32_t i = 0; i < kLaneGroup; i += 2 * Vec::kWidth) {
      const typename Vec::Register id = Vec::Load(group + i);
      Vec::Store(words + i,
                 Vec::PackLow(PhiloxVec<Vec>(id, 0, keys).words[0],
                              PhiloxVec<Vec>(Vec::High(id), 0, keys).words[0]));
    }
    for (uint32_t i = left; i < kLaneGroup; ++i) words[i] = ~uint32_t{0};
    num_selected +=
        Vec::AppendBelow(words, limit, first, places + num_selected);
  }
  return num_selected;
}

template <typename Vec>
constexpr LaneFunctions LanesOf(const char* name) {
  return {name, DrawLanes<Vec, true>, DrawLanes<Vec, false>, FindRepeats,
          SelectBelow<Vec>};
}

}  // namespace
}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CPU_DRAWS_DRAW_LANES_BODY_H_
