// What the file system says of a dataset folder. Private to this folder.
#ifndef FGNN_SHARED_GRAPH_FOLDER_STATE_H_
#define FGNN_SHARED_GRAPH_FOLDER_STATE_H_

#include <cstdint>
#include <filesystem>

#include "absl/status/status.h"

namespace fgnn {

struct FolderState {
  uint64_t fingerprint = 0;  // Dataset::Fingerprint().
  uint64_t array_bytes = 0;  // Of all .npy files.
};

// Of the files that a dataset has; those that are missing do not count.
FolderState StateOf(const std::filesystem::path& folder);

// That `folder` is one and can be listed. NotFound only if there is none: what
// cannot be looked at is PermissionDenied.
absl::Status CheckFolder(const std::filesystem::path& folder);

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_FOLDER_STATE_H_
