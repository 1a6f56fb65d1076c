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
#include "shared/base/files/plain_file.h"

namespace fgnn {

struct Tensor {
  std::string name;
  std::vector<uint64_t> shape;
  absl::Span<const float> values;  // Row-major.
};

// The most bytes of a file's JSON header.
inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 1 << 20;

// Replaces `path` atomically by a file of these tensors, in this order, and
// this metadata. A checksum over header and data is added as "crc32c".
// InvalidArgument: two tensors have one name, or there are too many for the
// header. Other errors: those of WriteFileAtomically().
absl::Status WriteSafetensors(
    const std::filesystem::path& path,
    const std::map<std::string, std::string>& metadata,
    const std::vector<Tensor>& tensors);

// A tensor in a file.
struct StoredTensor {
  std::string name;
  std::vector<uint64_t> shape;
  uint64_t offset = 0;      // Bytes of the file before its values.
  uint64_t num_values = 0;  // Number of floats, row-major.
};

// An open file. Movable.
class SafetensorsFile {
 public:
  // Reads the whole file once, in pieces, without trusting it. DataLoss, naming
  // the file and the reason: something is not as WriteSafetensors() writes it
  // (lengths, JSON, types, shapes, gaps, overlaps, the checksum), or the disk
  // cannot read it. InvalidArgument: not a plain file. NotFound,
  // PermissionDenied.
  static absl::StatusOr<SafetensorsFile> Open(
      const std::filesystem::path& path);

  const std::map<std::string, std::string>& metadata() const {
    return metadata_;
  }
  // Tensors in the order of their data.
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  // Returns null if there is no tensor of that name.
  const StoredTensor* Find(const std::string& name) const;
  // Reads the values of one of the tensors to `out`, which has room for them.
  absl::Status Read(const StoredTensor& tensor, float* out) const;

 private:
  PlainFile file_;
  std::map<std::string, std::string> metadata_;
  std::vector<StoredTensor> tensors_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_CHECKPOINT_SAFETENSORS_H_
