// Reads of memory that another process may change at any moment.
#ifndef FGNN_SHARED_BASE_READ_ONCE_H_
#define FGNN_SHARED_BASE_READ_ONCE_H_

#include <type_traits>

namespace fgnn {

// Returns the value. The compiler reads it exactly once: what is checked is
// what is used.
template <typename T>
T ReadOnce(const T& value) {
  static_assert(std::is_arithmetic_v<T>);
  return *const_cast<const volatile T*>(&value);
}

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_READ_ONCE_H_
