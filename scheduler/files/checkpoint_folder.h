// The checkpoints of a run's folder.
#ifndef FGNN_SCHEDULER_FILES_CHECKPOINT_FOLDER_H_
#define FGNN_SCHEDULER_FILES_CHECKPOINT_FOLDER_H_

#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/files/guarded_path.h"

namespace fgnn {

// Not thread-safe.
class CheckpointFolder {
 public:
  // `path`: the folder of checkpoints, by its name. `place`: the same folder
  // below the run's folder that is held (RunLock), valid for as long. The
  // constructor reads and makes nothing.
  CheckpointFolder(std::filesystem::path path, std::filesystem::path place)
      : path_(std::move(path)), place_(std::move(place)) {}

  const std::filesystem::path& path() const { return path_; }
  // Return the paths of the checkpoint after `epochs_done` whole epochs, within
  // the next epoch (`version` counts steps of the job), and of the best
  // validated epoch.
  std::filesystem::path OfEpoch(uint32_t epochs_done) const;
  std::filesystem::path OfStep(uint32_t epochs_done, uint64_t version) const;
  std::filesystem::path Best() const;

  // Makes the folder where it is missing, and syncs its name to disk.
  absl::Status Make() const;
  // Opens the folder. FailedPrecondition: it is a link, or no folder.
  absl::StatusOr<HeldFolder> Hold() const;
  // Returns the checkpoints, newest first, without the best one, which is a
  // copy of another; also what is no file and has a checkpoint's name.
  absl::StatusOr<std::vector<std::filesystem::path>> Find() const;
  // Makes a checkpoint of an epoch the best one, by a link where the file
  // system has links.
  absl::Status MakeBest(const std::filesystem::path& checkpoint) const;
  // Removes all checkpoints but the newest `keep` and the best.
  absl::Status Prune(uint32_t keep) const;
  // Removes files that killed writers left. No writer may be at work.
  absl::Status RemoveLeftovers() const;
  // Renames a folder that has a checkpoint's name to "….unreadable". A
  // checkpoint is to be written there, which can replace anything but a folder.
  absl::Status MoveAway(const std::filesystem::path& folder) const;

 private:
  std::filesystem::path path_;
  std::filesystem::path place_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_CHECKPOINT_FOLDER_H_
