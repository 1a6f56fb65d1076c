// The safetensors format, f32 only: data, never code. See README.md.
#ifndef FGNN_TRAINER_SERVICE_CHECKPOINT_SAFETENSORS_H_
#define FGNN_TRAINER_SERVICE_CHECKPOINT_SAFETENSORS_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/file.h"

namespace fgnn {

struct Tensor {
  std::string name;
  std::vector<uint64_t> shape;
  absl::Span<const float> values;  // Row-major.
};

// The most bytes of a file's JSON header.
inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 1 << 20;

// Replaces `path` atomically by a file of these tensors, in this order, and
// this metadata, to which a checksum over header and data is added as
// "crc32c". Returns the file's size in bytes.
// InvalidArgument: two tensors of one name, or too many for the header; else
// what WriteFileAtomically returns.
absl::StatusOr<uint64_t> WriteSafetensors(
    const std::filesystem::path& path,
    const std::map<std::string, std::string>& metadata,
    const std::vector<Tensor>& tensors);

// An open file. Movable; its tensors stay where they are.
class SafetensorsFile {
 public:
  // Distrusts the file: DataLoss names it and the reason where anything in it
  // is not as WriteSafetensors() leaves it: lengths, JSON, types, shapes,
  // gaps, overlaps, the checksum. NotFound, PermissionDenied.
  static absl::StatusOr<SafetensorsFile> Open(
      const std::filesystem::path& path);

  const std::map<std::string, std::string>& metadata() const {
    return metadata_;
  }
  // In the order of their data.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  // Null if there is none of that name.
  const Tensor* Find(const std::string& name) const;

 private:
  MappedFile file_;
  std::map<std::string, std::string> metadata_;
  std::vector<Tensor> tensors_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_CHECKPOINT_SAFETENSORS_H_
