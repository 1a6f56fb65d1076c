#include "shared/base/files/file_lines.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"

namespace fgnn {

absl::StatusOr<FileLines> FileLines::Open(const std::filesystem::path& path,
                                          size_t max_line_bytes,
                                          uint64_t from) {
  FGNN_ASSIGN_OR_RETURN(UniqueFd fd,
                        OpenPlainFile(path, O_RDONLY | O_NOFOLLOW));
  std::string what = absl::StrCat("read ", path.string());
  if (::lseek(fd.get(), static_cast<off_t>(from), SEEK_SET) < 0) {
    return ErrnoToStatus(errno, what);
  }
  return FileLines(std::move(fd), std::move(what), max_line_bytes);
}

absl::StatusOr<std::optional<std::string_view>> FileLines::Next() {
  size_t searched = begin_;
  while (true) {
    const size_t end = buffer_.find('\n', searched);
    is_whole_ = end != std::string::npos;
    const size_t bytes = (is_whole_ ? end : buffer_.size()) - begin_;
    if (bytes > max_line_bytes_) {
      return absl::ResourceExhaustedError(absl::StrCat(
          what_, ": has a line of more than ", max_line_bytes_, " bytes"));
    }
    if (is_whole_ || (at_end_ && bytes > 0)) {
      const size_t begin = begin_;
      begin_ += bytes + (is_whole_ ? 1 : 0);
      return std::string_view(buffer_).substr(begin, bytes);
    }
    if (at_end_) return std::nullopt;
    searched = bytes;
    FGNN_RETURN_IF_ERROR(ReadMore());
  }
}

// Drops the lines that were returned.
absl::Status FileLines::ReadMore() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  char chunk[1 << 14];
  ssize_t got = 0;
  do {
    got = ::read(fd_.get(), chunk, sizeof(chunk));
  } while (got < 0 && errno == EINTR);
  if (got < 0) return ErrnoToStatus(errno, what_);
  at_end_ = got == 0;
  buffer_.append(chunk, static_cast<size_t>(got));
  return absl::OkStatus();
}

}  // namespace fgnn
