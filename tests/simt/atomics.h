// CUDA's atomic functions. Before each another thread may go on.
#ifndef FGNN_TESTS_SIMT_ATOMICS_H_
#define FGNN_TESTS_SIMT_ATOMICS_H_

#include <algorithm>
#include <type_traits>

#include "tests/simt/scheduler.h"

#define __NV_ATOMIC_RELAXED __ATOMIC_RELAXED
#define __NV_ATOMIC_ACQUIRE __ATOMIC_ACQUIRE
#define __NV_ATOMIC_RELEASE __ATOMIC_RELEASE
#define __NV_ATOMIC_ACQ_REL __ATOMIC_ACQ_REL
#define __NV_THREAD_SCOPE_BLOCK 0
#define __NV_THREAD_SCOPE_DEVICE 1
#define __NV_THREAD_SCOPE_SYSTEM 2

namespace fgnn::simt {

// Sets *address to change(*address); returns the old value. Orders nothing, as
// CUDA's functions without an order do.
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

template <typename T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  return fgnn::simt::Update(address,
                            [=](T old) { return static_cast<T>(old + value); });
}
template <typename T>
T atomicMin(T* address, std::type_identity_t<T> value) {
  return fgnn::simt::Update(address,
                            [=](T old) { return std::min(old, value); });
}
template <typename T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  return fgnn::simt::Update(address,
                            [=](T old) { return std::max(old, value); });
}
template <typename T>
T atomicOr(T* address, std::type_identity_t<T> value) {
  return fgnn::simt::Update(address,
                            [=](T old) { return static_cast<T>(old | value); });
}
template <typename T>
T atomicXor(T* address, std::type_identity_t<T> value) {
  return fgnn::simt::Update(address,
                            [=](T old) { return static_cast<T>(old ^ value); });
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

// ThreadSanitizer sees what these order.
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

inline void __nanosleep(unsigned) { fgnn::simt::Yield(); }

#endif  // FGNN_TESTS_SIMT_ATOMICS_H_
