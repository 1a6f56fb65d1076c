// A checkpoint: a published version of a job's weights, with all data to go on
// from there, or to rebuild the model. The format is in README.md.
#ifndef FGNN_TRAINER_SERVICE_CHECKPOINT_CHECKPOINT_H_
#define FGNN_TRAINER_SERVICE_CHECKPOINT_CHECKPOINT_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/graph/dataset_names.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

inline constexpr size_t kMaxRunStateBytes = 64 << 10;
// Most bytes of all names of classes, and of all names of feature columns, with
// a byte for each name.
inline constexpr size_t kMostNamesBytes = 64 << 10;

struct CheckpointInfo {
  std::string job_id;
  ModelOptions model;
  uint64_t version = 0;  // Number of committed steps: the ledger.
  uint32_t epoch = 0;    // Number of completed epochs.
  uint64_t seed = 0;     // The job's seed.
  // How the job's trainers shared gradients; "": by steps whose sums the host
  // made. See README.md.
  std::string sync;
  // Model of the GPUs that trained it; "": cores of a host.
  std::string gpu;
  // Names of the model's classes and feature columns, which its dataset gave
  // them. Their bytes must leave room in the header; see kMostNamesBytes.
  DatasetNames names;
  // Parameters of a user's model, which its options do not determine: names,
  // shapes and offsets. code_crc32c is the CRC32C of the code that it was
  // trained with.
  std::vector<ParameterInfo> parameters;
  uint32_t code_crc32c = 0;
  // The scheduler's state to go on from; opaque here. At most
  // kMaxRunStateBytes.
  std::string run_state;
};

// Borrowed floats of one version. The optimizer keeps k floats, 0 to 2, for
// each of P weights.
struct CheckpointTensors {
  absl::Span<const float> weights;          // [P]
  absl::Span<const float> optimizer_state;  // [P * k], see README.md.
};

struct Checkpoint {
  CheckpointInfo info;
  std::vector<float> weights;          // [P]
  std::vector<float> optimizer_state;  // [P * k]
};

// Replaces `path` atomically: a crash leaves the old file or the new one.
// InvalidArgument: sizes do not fit the model. Other errors: NotFound,
// PermissionDenied, ResourceExhausted (disk full).
absl::Status WriteCheckpoint(const std::filesystem::path& path,
                             const CheckpointInfo& info,
                             const CheckpointTensors& tensors);

// Reads a file without trusting it. DataLoss: it is damaged, or the disk cannot
// read it. InvalidArgument: it is no plain file, not a checkpoint of ours, or
// of a later version of the program. NotFound, PermissionDenied.
absl::StatusOr<Checkpoint> ReadCheckpoint(const std::filesystem::path& path);

// Compares the parameters of a user's model with those of a checkpoint.
// InvalidArgument names the first parameter whose name or shape differs from
// `parameters`.
absl::Status CheckParameters(const CheckpointInfo& info,
                             absl::Span<const ParameterInfo> parameters);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_CHECKPOINT_CHECKPOINT_H_
