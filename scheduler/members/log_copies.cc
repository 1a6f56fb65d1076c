#include "scheduler/members/log_copies.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "shared/base/files/file.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"
#include "shared/config/state_dir.h"
#include "shared/device/device.h"
#include "shared/telemetry/bounded_log.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// A log is a little larger than its limit before it is rotated.
constexpr uint64_t kMostBytes = 2 * BoundedLog::kMostBytes;

// Opens the copy, or makes it.
absl::StatusOr<UniqueFd> Open(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return ErrnoToStatus(error.value(), path.parent_path().string());
  UniqueFd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0640));
  if (!file.valid()) return ErrnoToStatus(errno, path.string());
  return file;
}

}  // namespace

absl::StatusOr<uint64_t> LogCopies::Take(const std::string& host,
                                         const LogPart& part) const {
  // Neither a host's name nor a log's leads to another folder.
  FGNN_RETURN_IF_ERROR(CheckHostName(host));
  FGNN_RETURN_IF_ERROR(CheckHostName(part.name));
  const fs::path path = LogPath(HostFolder(state_dir_, host), part.name);
  FGNN_ASSIGN_OR_RETURN(const UniqueFd copy, Open(path));
  struct stat info = {};
  if (::fstat(copy.get(), &info) != 0) {
    return ErrnoToStatus(errno, path.string());
  }
  const auto size = static_cast<uint64_t>(info.st_size);
  if (part.offset != 0 && part.offset != size) return size;
  if (part.offset > kMostBytes ||
      part.bytes.size() > kMostBytes - part.offset) {
    return absl::ResourceExhaustedError(absl::StrCat(
        path.string(), ": a log has at most ", kMostBytes, " bytes"));
  }
  if (part.offset == 0 && ::ftruncate(copy.get(), 0) != 0) {
    return ErrnoToStatus(errno, path.string());
  }
  FGNN_RETURN_IF_ERROR(
      WriteAt(copy.get(), part.bytes, part.offset, path.string()));
  return part.offset + part.bytes.size();
}

}  // namespace fgnn
