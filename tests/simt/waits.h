// CUDA's functions that threads of a block or a warp call together.
#ifndef FGNN_TESTS_SIMT_WAITS_H_
#define FGNN_TESTS_SIMT_WAITS_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tests/simt/scheduler.h"
#include "tests/simt/warp_call.h"

inline constexpr int warpSize = 32;

namespace fgnn::simt {

template <typename T>
uint64_t ToWord(T value) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  return word;
}
template <typename T>
T FromWord(uint64_t word) {
  T value;
  std::memcpy(&value, &word, sizeof(T));
  return value;
}

inline uint32_t Lane() { return ThreadInBlock() % kWarp; }

// Returns the value that lane `from` has; the own one if `from` is in another
// part of the warp, of `width` lanes.
template <typename T>
T Shuffle(uint32_t mask, T value, uint32_t from, int width, Where where) {
  const uint32_t part = static_cast<uint32_t>(width);
  const uint32_t lane = from / part == Lane() / part ? from : Lane();
  return FromWord<T>(CallWarp({.op = WarpOp::kShuffle,
                               .mask = mask,
                               .value = ToWord(value),
                               .argument = lane},
                              where));
}

}  // namespace fgnn::simt

// The caller's place, where no argument says another one.
#define FGNN_WHERE_ \
  fgnn::simt::Where where = {__builtin_FILE(), __builtin_LINE()}

inline void __syncthreads(FGNN_WHERE_) {
  fgnn::simt::BlockBarrier(false, where);
}
inline int __syncthreads_count(int predicate, FGNN_WHERE_) {
  return static_cast<int>(fgnn::simt::BlockBarrier(predicate != 0, where));
}
inline int __syncthreads_or(int predicate, FGNN_WHERE_) {
  return fgnn::simt::BlockBarrier(predicate != 0, where) != 0 ? 1 : 0;
}

inline void __syncwarp(uint32_t mask = ~0u, FGNN_WHERE_) {
  fgnn::simt::CallWarp({.op = fgnn::simt::WarpOp::kSync, .mask = mask}, where);
}
template <typename T>
T __shfl_sync(uint32_t mask, T value, int lane, int width = 32, FGNN_WHERE_) {
  const uint32_t part = static_cast<uint32_t>(width);
  const uint32_t from =
      fgnn::simt::Lane() / part * part + static_cast<uint32_t>(lane) % part;
  return fgnn::simt::Shuffle(mask, value, from, width, where);
}
template <typename T>
T __shfl_up_sync(uint32_t mask, T value, uint32_t delta, int width = 32,
                 FGNN_WHERE_) {
  const uint32_t lane = fgnn::simt::Lane();
  const bool outside = lane % static_cast<uint32_t>(width) < delta;
  return fgnn::simt::Shuffle(mask, value, outside ? lane : lane - delta, width,
                             where);
}
template <typename T>
T __shfl_down_sync(uint32_t mask, T value, uint32_t delta, int width = 32,
                   FGNN_WHERE_) {
  return fgnn::simt::Shuffle(mask, value, fgnn::simt::Lane() + delta, width,
                             where);
}
template <typename T>
T __shfl_xor_sync(uint32_t mask, T value, int bits, int width = 32,
                  FGNN_WHERE_) {
  return fgnn::simt::Shuffle(mask, value,
                             fgnn::simt::Lane() ^ static_cast<uint32_t>(bits),
                             width, where);
}
inline uint32_t __ballot_sync(uint32_t mask, int predicate, FGNN_WHERE_) {
  return static_cast<uint32_t>(
      fgnn::simt::CallWarp({.op = fgnn::simt::WarpOp::kBallot,
                            .mask = mask,
                            .value = predicate != 0 ? 1u : 0u},
                           where));
}
inline int __any_sync(uint32_t mask, int predicate, FGNN_WHERE_) {
  return __ballot_sync(mask, predicate, where) != 0 ? 1 : 0;
}
inline int __all_sync(uint32_t mask, int predicate, FGNN_WHERE_) {
  return __ballot_sync(mask, predicate, where) == mask ? 1 : 0;
}
template <typename T>
uint32_t __match_any_sync(uint32_t mask, T value, FGNN_WHERE_) {
  return static_cast<uint32_t>(
      fgnn::simt::CallWarp({.op = fgnn::simt::WarpOp::kMatch,
                            .mask = mask,
                            .value = fgnn::simt::ToWord(value)},
                           where));
}
inline uint32_t __reduce_add_sync(uint32_t mask, uint32_t value, FGNN_WHERE_) {
  return static_cast<uint32_t>(fgnn::simt::CallWarp(
      {.op = fgnn::simt::WarpOp::kAdd, .mask = mask, .value = value}, where));
}
inline uint32_t __reduce_max_sync(uint32_t mask, uint32_t value, FGNN_WHERE_) {
  return static_cast<uint32_t>(fgnn::simt::CallWarp(
      {.op = fgnn::simt::WarpOp::kMax, .mask = mask, .value = value}, where));
}

#undef FGNN_WHERE_

#endif  // FGNN_TESTS_SIMT_WAITS_H_
