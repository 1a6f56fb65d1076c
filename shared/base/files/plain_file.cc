#include "shared/base/files/plain_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"

namespace fgnn {

absl::StatusOr<PlainFile> PlainFile::Open(const std::filesystem::path& path) {
  PlainFile file;
  file.what_ = path.string();
  FGNN_ASSIGN_OR_RETURN(file.fd_, OpenPlainFile(path));
  struct stat stat {};
  if (::fstat(file.fd_.get(), &stat) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("open ", file.what_));
  }
  file.size_ = static_cast<uint64_t>(stat.st_size);
  return file;
}

absl::Status PlainFile::Read(uint64_t offset, absl::Span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got =
        ::pread(fd_.get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      return absl::DataLossError(absl::StrCat(
          "read ", what_, " at byte ", offset, ": ",
          got == 0 ? "the file ends there" : std::strerror(errno)));
    }
    offset += static_cast<uint64_t>(got);
    out.remove_prefix(static_cast<size_t>(got));
  }
  return absl::OkStatus();
}

}  // namespace fgnn
