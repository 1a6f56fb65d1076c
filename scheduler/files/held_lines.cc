#include "scheduler/files/held_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "shared/base/files/file.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"

namespace fgnn {

absl::Status HeldLines::Write(const HeldFolder& folder) {
  if (held_.empty()) return absl::OkStatus();
  return folder.Named(WriteTo(folder.path() / name_));
}

absl::Status HeldLines::WriteTo(const std::filesystem::path& path) {
  const std::string what = absl::StrCat("write ", path.string());
  absl::StatusOr<UniqueFd> fd = OpenPlainFile(path, O_WRONLY);
  if (absl::IsNotFound(fd.status())) {
    fd = OpenPlainFile(path, O_WRONLY | O_CREAT);
    FGNN_RETURN_IF_ERROR(fd.status());
    // A checkpoint that relies on these lines may survive a power cut, so the
    // file's entry is synced.
    FGNN_RETURN_IF_ERROR(SyncFolder(path.parent_path()));
  }
  FGNN_RETURN_IF_ERROR(fd.status());
  struct stat file {};
  if (::fstat(fd->get(), &file) != 0) return ErrnoToStatus(errno, what);
  const auto size = static_cast<uint64_t>(file.st_size);
  const uint64_t place = place_.value_or(size);
  if (size < place) {
    return absl::DataLossError(
        absl::StrCat(path.string(), " has ", size, " bytes, but had ", place,
                     "; does another program write to it?"));
  }
  place_ = place;
  const absl::Status written = WriteAt(fd->get(), held_, place, what);
  const uint64_t end = place + (written.ok() ? held_.size() : 0);
  // Bytes that a full disk did take are cut off. If that fails too, the next
  // call writes over them.
  const bool is_cut = ::ftruncate(fd->get(), static_cast<off_t>(end)) == 0;
  FGNN_RETURN_IF_ERROR(written);
  if (!is_cut) return ErrnoToStatus(errno, what);
  held_.clear();
  place_.reset();
  return absl::OkStatus();
}

}  // namespace fgnn
