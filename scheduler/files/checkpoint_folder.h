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
  // `path`: the folder of checkpoints. Nothing is read or made.
  explicit CheckpointFolder(std::filesystem::path path)
      : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  // Paths of checkpoints behind whole epochs, within the next one (`version`
  // in steps of the job), and of the best validated epoch.
  std::filesystem::path OfEpoch(uint32_t epochs_done) const;
  std::filesystem::path OfStep(uint32_t epochs_done, uint64_t version) const;
  std::filesystem::path Best() const;

  // OK if the folder is there, and no link.
  absl::Status Check() const;
  // Newest first; not the best one, which may be a copy of any.
  absl::StatusOr<std::vector<std::filesystem::path>> Find() const;
  // Makes a checkpoint of an epoch the best one; it costs no space.
  absl::Status MakeBest(const std::filesystem::path& checkpoint) const;
  // Removes all checkpoints but the newest `keep` and the best.
  absl::Status Prune(uint32_t keep) const;
  // Removes what writers that were killed left behind. None is at work.
  absl::Status RemoveLeftovers() const;

 private:
  std::filesystem::path path_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_CHECKPOINT_FOLDER_H_
