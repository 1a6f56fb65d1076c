// A file that is read again when it has changed.
#ifndef FGNN_SHARED_BASE_FILES_WATCHED_FILE_H_
#define FGNN_SHARED_BASE_FILES_WATCHED_FILE_H_

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"

namespace fgnn {

// Thread-compatible.
class WatchedFile {
 public:
  explicit WatchedFile(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  // Returns whether the file is another one, or has been written to, since the
  // last call; true at the first. NotFound: the file is gone.
  absl::StatusOr<bool> HasChanged();
  // Makes the next HasChanged() true: the file could not be read, which may
  // pass without a change of the file.
  void Forget() { seen_.reset(); }

 private:
  const std::filesystem::path path_;
  std::optional<struct stat> seen_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_FILES_WATCHED_FILE_H_
