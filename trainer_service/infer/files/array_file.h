// Arrays in .npy files.
#ifndef FGNN_TRAINER_SERVICE_INFER_FILES_ARRAY_FILE_H_
#define FGNN_TRAINER_SERVICE_INFER_FILES_ARRAY_FILE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "shared/base/files/file.h"
#include "shared/graph/npy.h"

namespace fgnn {

// Writes `values`, an array of `shape` whose elements are of `type`, as a whole
// file or not at all.
template <typename T>
absl::Status WriteArray(const std::filesystem::path& path, NpyType type,
                        absl::Span<const uint64_t> shape,
                        absl::Span<const T> values) {
  const std::string header = MakeNpyHeader(type, shape);
  const std::string_view pieces[] = {
      header,
      {reinterpret_cast<const char*>(values.data()),
       values.size() * sizeof(T)}};
  return WriteFileAtomically(path, pieces);
}

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_FILES_ARRAY_FILE_H_
