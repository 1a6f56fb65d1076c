// One service per state folder.
#ifndef FGNN_SCHEDULER_HOST_STATE_LOCK_H_
#define FGNN_SCHEDULER_HOST_STATE_LOCK_H_

#include <filesystem>
#include <utility>

#include "absl/status/statusor.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

// Held until destroyed or until the process ends, however it ends. The file
// names the holder's pid for people; the lock itself is flock(2), so a file
// that a dead service left behind locks nobody out.
class StateLock {
 public:
  // AlreadyExists: "another service (pid N) runs in DIR".
  static absl::StatusOr<StateLock> Take(const std::filesystem::path& state_dir);

 private:
  explicit StateLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_STATE_LOCK_H_
