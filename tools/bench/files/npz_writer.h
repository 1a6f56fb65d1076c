// Writes .npz files: zip archives of uncompressed .npy arrays, as numpy.savez
// does.
#ifndef FGNN_TOOLS_BENCH_FILES_NPZ_WRITER_H_
#define FGNN_TOOLS_BENCH_FILES_NPZ_WRITER_H_

#include <cstddef>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "shared/graph/npy.h"

namespace fgnn {

// A one-dimensional array; its elements are borrowed.
struct NpzArray {
  std::string name;  // Name without ".npy".
  NpyType type = NpyType::kU32;
  absl::Span<const std::byte> bytes;
};

inline NpzArray MakeNpzArray(std::string name,
                             absl::Span<const uint32_t> values) {
  return {std::move(name),
          NpyType::kU32,
          {reinterpret_cast<const std::byte*>(values.data()),
           values.size() * sizeof(uint32_t)}};
}
inline NpzArray MakeNpzArray(std::string name, absl::Span<const float> values) {
  return {std::move(name),
          NpyType::kF32,
          {reinterpret_cast<const std::byte*>(values.data()),
           values.size() * sizeof(float)}};
}

// Replaces the file at `path`. Equal arrays give equal bytes. Errors name the
// path.
absl::Status WriteNpz(const std::filesystem::path& path,
                      absl::Span<const NpzArray> arrays);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_FILES_NPZ_WRITER_H_
