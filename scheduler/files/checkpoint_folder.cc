#include "scheduler/files/checkpoint_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "scheduler/files/run_files.h"
#include "shared/base/files/file.h"
#include "shared/base/files/guarded_path.h"
#include "shared/base/status.h"
#include "shared/config/checkpoint_name.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

absl::Status RemoveTemporaries(const fs::path& checkpoints) {
  std::error_code error;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(checkpoints, error)) {
    const std::string name = entry.path().filename().string();
    // Folders stay: one that had a checkpoint's name was moved aside for the
    // user to look at.
    if (IsCheckpointLeftover(name) &&
        fs::is_regular_file(entry.symlink_status(error))) {
      found.push_back(entry.path());
    }
  }
  for (const fs::path& path : found) {
    if (!error) fs::remove(path, error);
  }
  return error ? StatusOf(error, checkpoints) : absl::OkStatus();
}

}  // namespace

fs::path CheckpointFolder::OfEpoch(uint32_t epochs_done) const {
  return path_ / CheckpointAge{epochs_done, 0}.ToName();
}

fs::path CheckpointFolder::OfStep(uint32_t epochs_done,
                                  uint64_t version) const {
  return path_ / CheckpointAge{epochs_done, version}.ToName();
}

fs::path CheckpointFolder::Best() const { return path_ / kBestCheckpointName; }

// Without the sync, the folder's files do not survive a power cut.
absl::Status CheckpointFolder::Make() const {
  if (::mkdir(place_.c_str(), 0777) == 0) {
    return SyncFolder(place_.parent_path());
  }
  if (errno == EEXIST) return absl::OkStatus();
  return ErrnoToStatus(errno, absl::StrCat("make ", path_.string()));
}

absl::StatusOr<HeldFolder> CheckpointFolder::Hold() const {
  return HeldFolder::Open(place_, path_);
}

absl::StatusOr<std::vector<fs::path>> CheckpointFolder::Find() const {
  FGNN_ASSIGN_OR_RETURN(const HeldFolder held, Hold());
  absl::StatusOr<std::vector<fs::path>> found =
      FindCheckpointNames(held.path());
  FGNN_RETURN_IF_ERROR(held.Named(found.status()));
  for (fs::path& checkpoint : *found)
    checkpoint = path_ / checkpoint.filename();
  return found;
}

absl::Status CheckpointFolder::MakeBest(const fs::path& checkpoint) const {
  FGNN_ASSIGN_OR_RETURN(const HeldFolder held, Hold());
  const fs::path folder = held.path();
  const fs::path from = folder / checkpoint.filename();
  const fs::path next = folder / kNextBestName;
  std::error_code error;
  fs::remove(next, error);
  fs::create_hard_link(from, next, error);
  // Some file systems have no hard links.
  if (error) fs::copy_file(from, next, error);
  if (!error) fs::rename(next, folder / kBestCheckpointName, error);
  if (!error) return held.Named(SyncFolder(folder));
  std::error_code ignored;
  fs::remove(next, ignored);
  return StatusOf(error, Best());
}

absl::Status CheckpointFolder::Prune(uint32_t keep) const {
  FGNN_ASSIGN_OR_RETURN(const HeldFolder held, Hold());
  const auto checkpoints = FindCheckpoints(held.path());
  FGNN_RETURN_IF_ERROR(held.Named(checkpoints.status()));
  for (size_t i = keep; i < checkpoints->size(); ++i) {
    const fs::path& checkpoint = (*checkpoints)[i];
    std::error_code error;
    fs::remove(checkpoint, error);
    if (error) return held.Named(StatusOf(error, checkpoint));
  }
  return absl::OkStatus();
}

absl::Status CheckpointFolder::RemoveLeftovers() const {
  FGNN_ASSIGN_OR_RETURN(const HeldFolder held, Hold());
  return held.Named(RemoveTemporaries(held.path()));
}

absl::Status CheckpointFolder::MoveAway(const fs::path& folder) const {
  FGNN_ASSIGN_OR_RETURN(const HeldFolder held, Hold());
  const fs::path from = held.path() / folder.filename();
  const fs::path aside = from.string() + ".unreadable";
  std::error_code error;
  fs::rename(from, aside, error);
  if (!error) return absl::OkStatus();
  return held.Named(ErrnoToStatus(
      error.value(),
      absl::StrCat("rename ", from.string(), " to ", aside.string())));
}

}  // namespace fgnn
