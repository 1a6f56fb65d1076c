// The bytes of .npy files, for tests that write some.
#ifndef FGNN_TESTS_FAKES_NPY_BYTES_H_
#define FGNN_TESTS_FAKES_NPY_BYTES_H_

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "shared/graph/npy.h"

namespace fgnn {

template <typename T>
constexpr NpyType NpyTypeOf() {
  if constexpr (std::is_same_v<T, float>) return NpyType::kF32;
  if constexpr (std::is_same_v<T, double>) return NpyType::kF64;
  if constexpr (std::is_same_v<T, int32_t>) return NpyType::kI32;
  if constexpr (std::is_same_v<T, int64_t>) return NpyType::kI64;
  if constexpr (std::is_same_v<T, uint8_t>) return NpyType::kBool;
}

// Returns the bytes of an .npy file.
template <typename T>
std::string Npy(const std::vector<uint64_t>& shape,
                const std::vector<T>& values) {
  std::string bytes = MakeNpyHeader(NpyTypeOf<T>(), shape);
  bytes.append(reinterpret_cast<const char*>(values.data()),
               values.size() * sizeof(T));
  return bytes;
}
template <typename T>
std::string Npy(const std::vector<T>& values) {
  return Npy<T>({values.size()}, values);
}

}  // namespace fgnn

#endif  // FGNN_TESTS_FAKES_NPY_BYTES_H_
