// The lock that allows one service per state folder.
#ifndef FGNN_SCHEDULER_HOST_BOOK_STATE_LOCK_H_
#define FGNN_SCHEDULER_HOST_BOOK_STATE_LOCK_H_

#include <filesystem>
#include <utility>

#include "absl/status/statusor.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

// Holds the lock until it is destroyed or the process ends in any way. The file
// names the holder's pid for people. The lock itself is flock(2), so the file
// of a dead service keeps no other service out.
class StateLock {
 public:
  // AlreadyExists: "another service (pid N) runs in DIR".
  static absl::StatusOr<StateLock> Take(const std::filesystem::path& state_dir);
  // Returns whether the state folder is gone: it was deleted or moved away, or
  // the lock in it is another one by now.
  bool IsFolderGone() const;

 private:
  StateLock(UniqueFd fd, std::filesystem::path path)
      : fd_(std::move(fd)), path_(std::move(path)) {}

  UniqueFd fd_;
  std::filesystem::path path_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_BOOK_STATE_LOCK_H_
