// A folder that is removed with the object.
#ifndef FGNN_TOOLS_FGNN_SERVICE_TEMPORARY_FOLDER_H_
#define FGNN_TOOLS_FGNN_SERVICE_TEMPORARY_FOLDER_H_

#include <filesystem>
#include <utility>

#include "absl/status/statusor.h"

namespace fgnn {

// Removed with all files in it. Movable.
class TemporaryFolder {
 public:
  // Makes a folder in $TMPDIR, or else /tmp. Its name is short, so that socket
  // paths fit. Errors: those of the file system.
  static absl::StatusOr<TemporaryFolder> Make();
  TemporaryFolder(TemporaryFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::filesystem::path path)
      : path_(std::move(path)) {}
  std::filesystem::path path_;  // Empty once moved from.
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_SERVICE_TEMPORARY_FOLDER_H_
