#include "trainer_service/infer/files/unfinished_file.h"

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
  std::string temporary = path.string() + ".XXXXXX";
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
  return error == 0 ? absl::OkStatus() : Error("write", error);
}

absl::Status UnfinishedFile::WriteAt(uint64_t offset,
                                     absl::Span<const char> bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_.get(), bytes.data(), bytes.size(),
                                     static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Error("write", errno);
    offset += static_cast<uint64_t>(written);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status UnfinishedFile::ReadAt(uint64_t offset,
                                    absl::Span<char> bytes) const {
  while (!bytes.empty()) {
    const ssize_t read = ::pread(fd_.get(), bytes.data(), bytes.size(),
                                 static_cast<off_t>(offset));
    if (read < 0 && errno == EINTR) continue;
    // Somebody else cut the file if it ends here.
    if (read <= 0) return Error("read", read == 0 ? EIO : errno);
    offset += static_cast<uint64_t>(read);
    bytes.remove_prefix(static_cast<size_t>(read));
  }
  return absl::OkStatus();
}

absl::Status UnfinishedFile::Commit() {
  if (::fchmod(fd_.get(), 0644) != 0 || ::fsync(fd_.get()) != 0 ||
      ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return Error("write", errno);
  }
  temporary_.clear();
  return SyncFolder(path_.has_parent_path() ? path_.parent_path() : ".");
}

absl::Status UnfinishedFile::Error(const char* verb, int error) const {
  return ErrnoToStatus(error, absl::StrCat(verb, " ", path_.string()));
}

}  // namespace fgnn
