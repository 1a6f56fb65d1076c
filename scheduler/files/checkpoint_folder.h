// The checkpoints of a run's folder.
#ifndef FGNN_SCHEDULER_FILES_CHECKPOINT_FOLDER_H_
#define FGNN_SCHEDULER_FILES_CHECKPOINT_FOLDER_H_

#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fgnn {

// Not thread-safe.
class CheckpointFolder {
 public:
  // `path` is the folder of checkpoints. The constructor reads and makes
  // nothing.
  explicit CheckpointFolder(std::filesystem::path path)
      : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  // Return the paths of the checkpoint after `epochs_done` whole epochs, within
  // the next epoch (`version` counts steps of the job), and of the best
  // validated epoch.
  std::filesystem::path OfEpoch(uint32_t epochs_done) const;
  std::filesystem::path OfStep(uint32_t epochs_done, uint64_t version) const;
  std::filesystem::path Best() const;

  // Returns OK if the folder exists and is no link.
  absl::Status Check() const;
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

 private:
  std::filesystem::path path_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_CHECKPOINT_FOLDER_H_
