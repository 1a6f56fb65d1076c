// CUDA C++ as plain C++: what the emulated build reads before every .cu file.
// README.md has the design.
#ifndef FGNN_TESTS_SIMT_SIMT_H_
#define FGNN_TESTS_SIMT_SIMT_H_

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) alignas(n)

// A block has its OS thread for itself until it ends. AddressSanitizer guards
// static arrays but no thread-local ones.
#if defined(__SANITIZE_ADDRESS__)
#define FGNN_SIMT_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FGNN_SIMT_HAS_ASAN 1
#endif
#endif
#if defined(FGNN_SIMT_HAS_ASAN)
#define __shared__ static
#else
#define __shared__ static thread_local
#endif

#include <cuda_runtime.h>

// In this order: each uses those before it.
#include "tests/simt/arithmetic.h"
#include "tests/simt/atomics.h"
#include "tests/simt/launch.h"
#include "tests/simt/scheduler.h"
#include "tests/simt/waits.h"

#endif  // FGNN_TESTS_SIMT_SIMT_H_
