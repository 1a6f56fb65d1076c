// The state of a dataset folder in the file system. Private to this folder.
#ifndef FGNN_SHARED_GRAPH_FOLDER_STATE_H_
#define FGNN_SHARED_GRAPH_FOLDER_STATE_H_

#include <cstdint>
#include <filesystem>

#include "absl/status/status.h"

namespace fgnn {

struct FolderState {
  uint64_t fingerprint = 0;  // Dataset::Fingerprint().
  uint64_t array_bytes = 0;  // Bytes of all .npy files.
};

// Returns the state of the files that a dataset has; missing files do not
// count.
FolderState StateOf(const std::filesystem::path& folder);

// Checks that `folder` is a folder and can be listed. NotFound only if it does
// not exist: a path that cannot be read is PermissionDenied.
absl::Status CheckFolder(const std::filesystem::path& folder);

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_FOLDER_STATE_H_
