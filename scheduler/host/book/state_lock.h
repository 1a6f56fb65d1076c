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

 private:
  explicit StateLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_BOOK_STATE_LOCK_H_
