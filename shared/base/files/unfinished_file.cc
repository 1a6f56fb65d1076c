#include "shared/base/files/unfinished_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"

namespace fgnn {

absl::StatusOr<std::unique_ptr<UnfinishedFile>> UnfinishedFile::Create(
    const std::filesystem::path& path) {
  std::string temporary = TemporaryPattern(path);
  UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid()) {
    return ErrnoToStatus(errno, absl::StrCat("write ", path.string()));
  }
  return absl::WrapUnique(
      new UnfinishedFile(std::move(fd), path, std::move(temporary)));
}

UnfinishedFile::~UnfinishedFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

absl::Status UnfinishedFile::Reserve(uint64_t bytes) const {
  const int error = ::posix_fallocate(fd_.get(), 0, static_cast<off_t>(bytes));
  return error == 0 ? absl::OkStatus() : ErrnoToStatus(error, Verb("write"));
}

absl::Status UnfinishedFile::Write(uint64_t offset,
                                   std::string_view bytes) const {
  return WriteAt(fd_.get(), bytes, offset, Verb("write"));
}

absl::Status UnfinishedFile::Read(uint64_t offset,
                                  absl::Span<std::byte> bytes) const {
  FGNN_ASSIGN_OR_RETURN(const size_t got,
                        ReadAt(fd_.get(), bytes, offset, Verb("read")));
  // Somebody else cut the file if it ends here.
  return got == bytes.size() ? absl::OkStatus()
                             : ErrnoToStatus(EIO, Verb("read"));
}

absl::Status UnfinishedFile::Commit() {
  if (::fchmod(fd_.get(), 0644) != 0 || ::fsync(fd_.get()) != 0 ||
      ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return ErrnoToStatus(errno, Verb("write"));
  }
  temporary_.clear();
  return SyncFolder(path_.has_parent_path() ? path_.parent_path() : ".");
}

std::string UnfinishedFile::Verb(const char* verb) const {
  return absl::StrCat(verb, " ", path_.string());
}

}  // namespace fgnn
