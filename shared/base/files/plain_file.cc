#include "shared/base/files/plain_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

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
  const std::string what = absl::StrCat("read ", what_, " at byte ", offset);
  const absl::StatusOr<size_t> got = ReadAt(fd_.get(), out, offset, what);
  if (!got.ok()) return absl::DataLossError(got.status().message());
  if (*got == out.size()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "read ", what_, " at byte ", offset + *got, ": the file ends there"));
}

}  // namespace fgnn
