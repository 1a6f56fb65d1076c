// CUDA kernels on the CPU, for tests. Included before a .cu file
// (-include simt/simt.h -x c++) it makes plain C++ of CUDA C++: any compiler,
// sanitizer or debugger then takes the kernel's own source.
//
//   qualifiers       __global__ and its like mean nothing; __shared__ is static
//   threads          fibers (scheduler.h); barriers and warp functions switch
//   blocks           one after another, or some at a time on OS threads
//   AddressSanitizer finds accesses outside of an array, __shared__ ones too
//   ThreadSanitizer  finds races: every CUDA thread is a fiber of its own, and
//                    only what CUDA promises to order is ordered
//
// Not there: cooperative groups, textures, dynamic parallelism, inline PTX,
// tensor cores; __threadfence() orders, but ThreadSanitizer does not see it.
#ifndef FGNN_SIMT_SIMT_H_
#define FGNN_SIMT_SIMT_H_

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
// One block at a time has the thread. AddressSanitizer guards static arrays but
// not thread-local ones, so with it blocks run one after another.
#if defined(__SANITIZE_ADDRESS__)
#define __shared__ static
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __shared__ static
#endif
#endif
#ifndef __shared__
#define __shared__ static thread_local
#endif

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tests/simt/launch.h"
#include "tests/simt/scheduler.h"

inline constexpr int warpSize = 32;

using std::max;
using std::min;

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
template <typename T>
T Shuffle(uint32_t mask, T value, uint32_t lane, Where where) {
  return FromWord<T>(
      WarpCall(WarpOp::kShuffle, mask, ToWord(value), lane, where));
}
inline uint32_t Lane() { return ThreadInBlock() % 32; }

// Relaxed, as CUDA's are. Before each, another thread may take over.
template <typename T, typename Change>
T Update(T* address, Change change) {
  MayYield();
  T old;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  for (;;) {
    T changed = change(old);
    if (__atomic_compare_exchange(address, &old, &changed, false,
                                  __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      return old;
    }
  }
}

}  // namespace fgnn::simt

#define FGNN_WHERE_ \
  fgnn::simt::Where where = {__builtin_FILE(), __builtin_LINE()}

inline void __syncthreads(FGNN_WHERE_) { fgnn::simt::BlockBarrier(0, where); }
inline int __syncthreads_count(int predicate, FGNN_WHERE_) {
  return static_cast<int>(fgnn::simt::BlockBarrier(predicate != 0, where));
}
inline int __syncthreads_or(int predicate, FGNN_WHERE_) {
  return fgnn::simt::BlockBarrier(predicate != 0, where) != 0;
}
inline int __syncthreads_and(int predicate, FGNN_WHERE_) {
  return fgnn::simt::BlockBarrier(predicate == 0, where) == 0;
}
inline void __syncwarp(uint32_t mask = ~0u, FGNN_WHERE_) {
  using fgnn::simt::WarpOp;
  fgnn::simt::WarpCall(WarpOp::kSync, mask, 0, 0, where);
}
template <typename T>
T __shfl_sync(uint32_t mask, T value, int lane, int width = 32, FGNN_WHERE_) {
  const uint32_t base = fgnn::simt::Lane() & ~uint32_t(width - 1);
  return fgnn::simt::Shuffle(mask, value, base + (uint32_t(lane) % width),
                             where);
}
template <typename T>
T __shfl_up_sync(uint32_t mask, T value, uint32_t delta, int width = 32,
                 FGNN_WHERE_) {
  const uint32_t lane = fgnn::simt::Lane();
  const uint32_t from = lane % width < delta ? lane : lane - delta;
  return fgnn::simt::Shuffle(mask, value, from, where);
}
template <typename T>
T __shfl_down_sync(uint32_t mask, T value, uint32_t delta, int width = 32,
                   FGNN_WHERE_) {
  const uint32_t lane = fgnn::simt::Lane();
  const uint32_t from =
      lane % width + delta >= uint32_t(width) ? lane : lane + delta;
  return fgnn::simt::Shuffle(mask, value, from, where);
}
template <typename T>
T __shfl_xor_sync(uint32_t mask, T value, int bits, int width = 32,
                  FGNN_WHERE_) {
  const uint32_t lane = fgnn::simt::Lane();
  const uint32_t from = lane ^ uint32_t(bits);
  return fgnn::simt::Shuffle(mask, value,
                             from / width > lane / width ? lane : from, where);
}
inline uint32_t __ballot_sync(uint32_t mask, int predicate, FGNN_WHERE_) {
  using fgnn::simt::WarpOp;
  return uint32_t(
      fgnn::simt::WarpCall(WarpOp::kBallot, mask, predicate != 0, 0, where));
}
inline int __any_sync(uint32_t mask, int predicate, FGNN_WHERE_) {
  return __ballot_sync(mask, predicate, where) != 0;
}
inline int __all_sync(uint32_t mask, int predicate, FGNN_WHERE_) {
  return __ballot_sync(mask, !predicate, where) == 0;
}
template <typename T>
uint32_t __match_any_sync(uint32_t mask, T value, FGNN_WHERE_) {
  using fgnn::simt::WarpOp;
  return uint32_t(fgnn::simt::WarpCall(WarpOp::kMatch, mask,
                                       fgnn::simt::ToWord(value), 0, where));
}
inline uint32_t __reduce_add_sync(uint32_t mask, uint32_t value, FGNN_WHERE_) {
  using fgnn::simt::WarpOp;
  return uint32_t(fgnn::simt::WarpCall(WarpOp::kAdd, mask, value, 0, where));
}
inline uint32_t __reduce_max_sync(uint32_t mask, uint32_t value, FGNN_WHERE_) {
  using fgnn::simt::WarpOp;
  return uint32_t(fgnn::simt::WarpCall(WarpOp::kMax, mask, value, 0, where));
}

template <typename T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  return fgnn::simt::Update(address, [=](T old) { return T(old + value); });
}
template <typename T>
T atomicSub(T* address, std::type_identity_t<T> value) {
  return fgnn::simt::Update(address, [=](T old) { return T(old - value); });
}
template <typename T>
T atomicMin(T* address, std::type_identity_t<T> value) {
  return fgnn::simt::Update(address, [=](T old) { return min(old, value); });
}
template <typename T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  return fgnn::simt::Update(address, [=](T old) { return max(old, value); });
}
template <typename T>
T atomicOr(T* address, std::type_identity_t<T> value) {
  return fgnn::simt::Update(address, [=](T old) { return T(old | value); });
}
template <typename T>
T atomicAnd(T* address, std::type_identity_t<T> value) {
  return fgnn::simt::Update(address, [=](T old) { return T(old & value); });
}
template <typename T>
T atomicExch(T* address, std::type_identity_t<T> value) {
  return fgnn::simt::Update(address, [=](T) { return value; });
}
template <typename T>
T atomicCAS(T* address, std::type_identity_t<T> compare,
            std::type_identity_t<T> value) {
  fgnn::simt::MayYield();
  __atomic_compare_exchange(address, &compare, &value, false, __ATOMIC_RELAXED,
                            __ATOMIC_RELAXED);
  return compare;
}

// With orders these are what ThreadSanitizer sees threads order by.
#define __NV_ATOMIC_RELAXED __ATOMIC_RELAXED
#define __NV_ATOMIC_ACQUIRE __ATOMIC_ACQUIRE
#define __NV_ATOMIC_RELEASE __ATOMIC_RELEASE
#define __NV_ATOMIC_ACQ_REL __ATOMIC_ACQ_REL
#define __NV_THREAD_SCOPE_BLOCK 0
#define __NV_THREAD_SCOPE_DEVICE 1
#define __NV_THREAD_SCOPE_SYSTEM 2
template <typename T>
T __nv_atomic_load_n(T* address, int order, int /*scope*/) {
  fgnn::simt::MayYield();
  return __atomic_load_n(address, order);
}
template <typename T>
void __nv_atomic_store_n(T* address, std::type_identity_t<T> value, int order,
                         int /*scope*/) {
  fgnn::simt::MayYield();
  __atomic_store_n(address, value, order);
}

inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __threadfence(); }
inline void __threadfence_system() { __threadfence(); }
inline void __nanosleep(unsigned) { fgnn::simt::Yield(); }

template <typename T>
T __ldg(const T* address) {
  return *address;
}
template <typename T>
T __ldcg(const T* address) {
  return *address;
}
template <typename T>
void __stcs(T* address, T value) {
  *address = value;
}
inline int __popc(uint32_t x) { return std::popcount(x); }
inline int __popcll(uint64_t x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(uint32_t(x)); }
inline int __clzll(long long x) { return std::countl_zero(uint64_t(x)); }
inline int __ffs(int x) {
  return x == 0 ? 0 : std::countr_zero(uint32_t(x)) + 1;
}
inline uint32_t __umulhi(uint32_t a, uint32_t b) {
  return uint32_t(uint64_t{a} * b >> 32);
}
inline uint64_t __umul64hi(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  return uint64_t(Wide{a} * b >> 64);
}
inline uint32_t __float_as_uint(float x) { return std::bit_cast<uint32_t>(x); }
inline float __uint_as_float(uint32_t x) { return std::bit_cast<float>(x); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __expf(float x) { return std::exp(x); }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }

#undef FGNN_WHERE_

#endif  // FGNN_SIMT_SIMT_H_
