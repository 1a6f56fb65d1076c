#include "shared/graph/derived_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/hash.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr char kDerived[] = "derived";

// Makes a folder that only this user may write, whatever the process's umask.
absl::Status MakeFolder(const fs::path& folder, mode_t mode) {
  if (::mkdir(folder.c_str(), mode) == 0 || errno == EEXIST) {
    return absl::OkStatus();
  }
  return ErrnoToStatus(errno, absl::StrCat("make ", folder.string()));
}

absl::StatusOr<HeldFolder> OpenGuarded(const fs::path& folder,
                                       const fs::path& name,
                                       GuardedOwner owner) {
  FGNN_ASSIGN_OR_RETURN(HeldFolder held, HeldFolder::Open(folder, name));
  struct stat info = {};
  if (::stat(held.path().c_str(), &info) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("look at ", name.string()));
  }
  FGNN_RETURN_IF_ERROR(CheckGuarded(name, info, owner));
  return held;
}

// Removes temporary files that killed writers left in the folder. A young file
// is kept: a process, such as one of another service, may be writing it now.
void RemoveLeftovers(const fs::path& folder) {
  constexpr auto kOld = std::chrono::minutes(10);
  const auto now = fs::file_time_type::clock::now();
  std::error_code error;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (IsTemporaryName(entry.path().filename().string()) &&
        entry.symlink_status(error).type() == fs::file_type::regular &&
        now - entry.last_write_time(error) > kOld) {
      found.push_back(entry.path());
    }
  }
  for (const fs::path& leftover : found) fs::remove(leftover, error);
}

}  // namespace

DerivedFiles::DerivedFiles(const fs::path& dataset, const fs::path& state_dir) {
  std::error_code error;
  dataset_ = fs::canonical(dataset, error);
  if (error || state_dir.empty()) return;
  in_service_ =
      state_dir / kDerived /
      absl::StrCat(absl::Hex(HashString(dataset_.string()), absl::kZeroPad16));
}

absl::StatusOr<HeldFolder> DerivedFiles::OpenBeside(bool writes) const {
  if (dataset_.empty()) return absl::NotFoundError("the dataset is gone");
  FGNN_ASSIGN_OR_RETURN(const HeldFolder dataset, HeldFolder::Open(dataset_));
  const fs::path name = dataset_ / kDerived;
  const fs::path folder = dataset.path() / kDerived;
  if (writes) {
    struct stat info = {};
    if (::stat(dataset.path().c_str(), &info) != 0) {
      return ErrnoToStatus(errno, absl::StrCat("look at ", dataset_.string()));
    }
    if (info.st_uid != ::geteuid()) {
      return absl::PermissionDeniedError(
          absl::StrCat(dataset_.string(), " belongs to another user"));
    }
    FGNN_RETURN_IF_ERROR(dataset.Named(MakeFolder(folder, 0755)));
  }
  absl::StatusOr<HeldFolder> held = OpenGuarded(
      folder, name,
      writes ? GuardedOwner::kThisUser : GuardedOwner::kThisUserOrRoot);
  return held.ok() ? std::move(held) : dataset.Named(held.status());
}

absl::StatusOr<HeldFolder> DerivedFiles::OpenInService(bool writes) const {
  if (in_service_.empty()) {
    return absl::NotFoundError("there is no service's folder");
  }
  if (writes) {
    FGNN_RETURN_IF_ERROR(MakeFolder(in_service_.parent_path(), 0700));
    FGNN_RETURN_IF_ERROR(MakeFolder(in_service_, 0700));
  }
  return OpenGuarded(in_service_, in_service_, GuardedOwner::kThisUser);
}

absl::StatusOr<HeldFolder> DerivedFiles::Open(DerivedPlace place,
                                              bool writes) const {
  return place == DerivedPlace::kBeside ? OpenBeside(writes)
                                        : OpenInService(writes);
}

absl::StatusOr<MappedFile> DerivedFiles::Map(DerivedPlace place,
                                             std::string_view name) const {
  FGNN_ASSIGN_OR_RETURN(const HeldFolder folder, Open(place, /*writes=*/false));
  const fs::path path = folder.path() / name;
  const absl::StatusOr<UniqueFd> fd =
      OpenPlainFile(path, O_RDONLY | O_NOFOLLOW);
  if (!fd.ok()) return folder.Named(fd.status());
  struct stat info = {};
  if (::fstat(fd->get(), &info) != 0) return ErrnoToStatus(errno, "look at it");
  FGNN_RETURN_IF_ERROR(
      folder.Named(CheckGuarded(path, info, GuardedOwner::kThisUserOrRoot)));
  absl::StatusOr<MappedFile> file = MappedFile::Map(*fd, path);
  return file.ok() ? std::move(file) : folder.Named(file.status());
}

absl::Status DerivedFiles::Write(
    DerivedPlace place, std::string_view name,
    absl::Span<const std::string_view> pieces) const {
  FGNN_ASSIGN_OR_RETURN(const HeldFolder folder, Open(place, /*writes=*/true));
  RemoveLeftovers(folder.path());
  return folder.Named(WriteFileAtomically(folder.path() / name, pieces));
}

absl::Status DerivedFiles::Keep(
    std::string_view name, absl::Span<const std::string_view> pieces) const {
  const absl::Status beside = Write(DerivedPlace::kBeside, name, pieces);
  if (beside.ok() || in_service_.empty()) return beside;
  const absl::Status kept = Write(DerivedPlace::kService, name, pieces);
  if (kept.ok()) {
    LogInfo("{} of dataset {} is kept in {}: {}", std::string(name),
            dataset_.string(), in_service_.string(), MessageOf(beside));
  }
  return kept;
}

void DerivedFiles::RemoveOthers(std::string_view prefix,
                                std::string_view current) const {
  for (const DerivedPlace place : kDerivedPlaces) {
    const absl::StatusOr<HeldFolder> folder = Open(place, /*writes=*/false);
    if (!folder.ok() || ::access(folder->path().c_str(), W_OK) != 0) continue;
    std::error_code error;
    for (const fs::directory_entry& entry :
         fs::directory_iterator(folder->path(), error)) {
      const std::string name = entry.path().filename();
      if (!name.starts_with(prefix) || name.starts_with(current)) continue;
      fs::remove(entry.path(), error);
      if (error) {
        LogWarning(
            "{} of dataset {} is of no use any more, but cannot be "
            "removed: {}",
            name, dataset_.string(), error.message());
      }
    }
  }
}

}  // namespace fgnn
