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
#include "shared/base/units.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr char kDerived[] = "derived";
// A file in a dataset's folder of the service: the path of the dataset.
constexpr char kNote[] = "dataset";
constexpr size_t kMostPathBytes = 4096;
// Bytes that a file or a folder counts for beside its contents. A disk has room
// for a number of files too.
constexpr uint64_t kBytesOfEntry = 16 << 10;
// Age from which on nobody is about to write something, unless it hangs.
constexpr auto kOld = std::chrono::minutes(10);

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

// Returns whether a folder of the service is for a dataset that is gone. One
// without a note was made a moment ago, or its maker was killed.
bool IsOfGone(const fs::path& folder) {
  const absl::StatusOr<std::string> dataset =
      ReadSmallFile(folder / kNote, kMostPathBytes, O_RDONLY | O_NOFOLLOW);
  std::error_code error;
  if (absl::IsNotFound(dataset.status())) {
    const auto made = fs::last_write_time(folder, error);
    return !error && fs::file_time_type::clock::now() - made > kOld;
  }
  // What this process may not look at is not gone.
  return dataset.ok() &&
         !fs::exists(fs::path(*dataset) / "metadata.yaml", error) && !error;
}

uint64_t BytesIn(const fs::path& folder) {
  uint64_t bytes = kBytesOfEntry;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const uint64_t size = entry.file_size(error);
    bytes += kBytesOfEntry + (error ? 0 : size);
  }
  return bytes;
}

// Removes what is kept of other datasets that are gone, and returns the bytes
// of all that is left. Two processes that write at once may both count without
// the other. `own`: the folder of the dataset that is written for.
uint64_t RemoveGone(const fs::path& own) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(own.parent_path(), error)) {
    folders.push_back(entry.path());
  }
  uint64_t bytes = 0;
  for (const fs::path& folder : folders) {
    if (folder != own && IsOfGone(folder)) fs::remove_all(folder, error);
    if (fs::exists(folder, error)) bytes += BytesIn(folder);
  }
  return bytes;
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

absl::Status DerivedFiles::MakeRoom(const HeldFolder& own,
                                    uint64_t bytes) const {
  const fs::path note = own.path() / kNote;
  if (ReadSmallFile(note, kMostPathBytes).value_or("") != dataset_.string()) {
    FGNN_RETURN_IF_ERROR(
        own.Named(WriteFileAtomically(note, dataset_.string())));
  }
  const uint64_t used = RemoveGone(in_service_);
  if (used + bytes <= kMostDerivedBytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      in_service_.parent_path().string(), " has ", FormatBytes(used),
      " of at most ", FormatBytes(kMostDerivedBytes), ", and ",
      FormatBytes(bytes),
      " more are wanted; remove folders in it, what jobs need is made again"));
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
  if (place == DerivedPlace::kService) {
    uint64_t bytes = kBytesOfEntry;
    for (const std::string_view piece : pieces) bytes += piece.size();
    FGNN_RETURN_IF_ERROR(MakeRoom(folder, bytes));
  }
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
