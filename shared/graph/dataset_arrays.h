// The arrays of a dataset folder as they lie in their files, with the types and
// shapes that metadata.yaml asks for. Private to this folder.
#ifndef FGNN_SHARED_GRAPH_DATASET_ARRAYS_H_
#define FGNN_SHARED_GRAPH_DATASET_ARRAYS_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/base/files/file.h"
#include "shared/graph/folder_state.h"
#include "shared/graph/metadata.h"
#include "shared/graph/npy.h"

namespace fgnn {

inline constexpr char kFeaturesFile[] = "features.npy";
inline constexpr char kNamesFile[] = "names.txt";
inline constexpr char kTargetsFile[] = "targets.npy";

// Whether arrays are mapped, or only their headers read.
enum class Access : uint8_t { kMap, kHeaders };

struct SplitArrays {
  NpyArray train;
  NpyArray valid;
  NpyArray test;
};

// An array without a file has no shape.
struct DatasetArrays {
  // Opens the arrays of `folder`, and checks types and shapes. Errors as those
  // of Dataset::Open() with Validation::kShapes.
  static absl::StatusOr<DatasetArrays> Open(const std::filesystem::path& folder,
                                            Access access);

  std::filesystem::path folder;
  DatasetMetadata metadata;
  FolderState state;  // State before any file was read.
  NpyArray indptr;
  NpyArray indices;
  NpyArray features;
  NpyArray labels;
  NpyArray targets;
  NpyArray edge_weights;
  SplitArrays vertices;
  SplitArrays edges;
  std::optional<MappedFile> names;  // nullopt: no file, or it is not mapped.
  // Names of the columns of targets; see DatasetNames.
  std::vector<std::string> target_names;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_DATASET_ARRAYS_H_
