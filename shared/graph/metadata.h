// metadata.yaml of a dataset folder: the sizes and types that the arrays must
// have.
#ifndef FGNN_SHARED_GRAPH_METADATA_H_
#define FGNN_SHARED_GRAPH_METADATA_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/graph/dataset.h"
#include "shared/graph/host_rows.h"
#include "shared/graph/npy.h"

namespace fgnn {

// The most classes that a dataset may have, and the most columns of its
// features and targets. Memory is allocated by these numbers, which nothing but
// metadata.yaml states. A larger number is taken for a mistake.
inline constexpr uint32_t kMostClasses = uint32_t{1} << 24;
inline constexpr uint64_t kMostFeatureColumns = uint64_t{1} << 24;
inline constexpr uint32_t kMostTargetColumns = 65'535;

// What metadata.yaml's host_rows says of a host folder, whose features.npy has
// the rows of one owner.
struct HostFolder {
  HostRows host;
  uint64_t num_rows = 0;     // Rows of features.npy. At most num_nodes.
  uint64_t content = 0;      // ContentFingerprint() of the whole dataset.
  uint64_t own_content = 0;  // OwnFingerprint() of the folder.
};

struct DatasetMetadata {
  std::string name;
  std::string source;      // Origin of the dataset, one line for people.
  uint64_t num_nodes = 0;  // In [1, 2^32).
  uint64_t num_edges = 0;
  uint64_t feature_columns = 0;  // 0: no features. At most kMostFeatureColumns.
  FeatureType feature_type = FeatureType::kFloat32;
  uint32_t num_classes = 0;     // 0: no labels. At most kMostClasses.
  uint32_t target_columns = 0;  // 0: no targets. At most kMostTargetColumns.
  TargetType target_type = TargetType::kFloat32;
  bool symmetric = false;
  // Arrays, columns and files of the source that its import left out.
  std::vector<std::string> left_out;
  // Kinds of vertices that count apart; empty: there is one kind. Each name of
  // a vertex is "KIND:ID" then.
  std::vector<std::string> kinds;
  std::optional<HostFolder> host_rows;  // nullopt: the folder has all rows.
};

// Returns the type of the elements of features.npy. NumPy has no bf16: its bits
// are stored as u16.
NpyType StoredType(FeatureType type);
// Returns the type of the elements of targets.npy.
NpyType StoredType(TargetType type);

// Reads `folder`/metadata.yaml. num_nodes and num_edges must be there; the
// other keys have defaults (the name is the folder's). Unknown keys are
// ignored.
//   NotFound         there is no such file.
//   InvalidArgument  not YAML, or a value out of range; names line and key.
absl::StatusOr<DatasetMetadata> ReadMetadata(
    const std::filesystem::path& folder);

// Returns the file's contents.
std::string FormatMetadata(const DatasetMetadata& metadata);

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_METADATA_H_
