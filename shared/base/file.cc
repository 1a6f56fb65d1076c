#include "shared/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/unique_fd.h"

namespace fgnn {
namespace {

absl::Status WriteAll(int fd, std::string_view contents,
                      const std::string& what) {
  while (!contents.empty()) {
    const ssize_t written = ::write(fd, contents.data(), contents.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return ErrnoToStatus(errno, what);
    }
    contents.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status SyncFolder(const std::filesystem::path& folder) {
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("sync folder ", folder.string()));
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> OpenForReading(const std::filesystem::path& path,
                                        struct stat* stat) {
  const std::string what = absl::StrCat("open ", path.string());
  // Not blocking: the open of a FIFO would wait for its writer.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid() || ::fstat(fd.get(), stat) != 0) {
    return ErrnoToStatus(errno, what);
  }
  if (!S_ISREG(stat->st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": not a plain file"));
  }
  return fd;
}

}  // namespace

absl::StatusOr<std::string> ReadSmallFile(const std::filesystem::path& path,
                                          size_t max_bytes) {
  struct stat stat {};
  const std::string what = absl::StrCat("read ", path.string());
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoToStatus(errno, what);
  if (::fstat(fd.get(), &stat) != 0) return ErrnoToStatus(errno, what);
  if (S_ISDIR(stat.st_mode)) return ErrnoToStatus(EISDIR, what);
  std::string contents;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(fd.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoToStatus(errno, what);
    if (got == 0) return contents;
    if (contents.size() + static_cast<size_t>(got) > max_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(what, ": larger than ", max_bytes, " bytes"));
    }
    contents.append(buffer, static_cast<size_t>(got));
  }
}

absl::Status WriteFileAtomically(const std::filesystem::path& path,
                                 std::string_view contents) {
  return WriteFileAtomically(path, absl::MakeConstSpan(&contents, 1));
}

absl::Status WriteFileAtomically(const std::filesystem::path& path,
                                 absl::Span<const std::string_view> pieces) {
  const std::string what = absl::StrCat("write ", path.string());
  std::string temporary = path.string() + ".XXXXXX";
  UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid()) return ErrnoToStatus(errno, what);
  absl::Status status;
  for (const std::string_view piece : pieces) {
    if (status.ok()) status = WriteAll(fd.get(), piece, what);
  }
  if (status.ok() && ::fchmod(fd.get(), 0644) != 0) {
    status = ErrnoToStatus(errno, what);
  }
  if (status.ok() && ::fsync(fd.get()) != 0)
    status = ErrnoToStatus(errno, what);
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) {
    status = ErrnoToStatus(errno, what);
  }
  if (!status.ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  const std::filesystem::path folder = path.parent_path();
  return SyncFolder(folder.empty() ? "." : folder);
}

absl::Status AppendToFile(const std::filesystem::path& path,
                          std::string_view text) {
  if (text.empty()) return absl::OkStatus();
  const UniqueFd fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640));
  if (!fd.valid()) return ErrnoToStatus(errno, path.string());
  return WriteAll(fd.get(), text, path.string());
}

absl::StatusOr<MappedFile> MappedFile::Open(const std::filesystem::path& path) {
  struct stat stat {};
  FGNN_ASSIGN_OR_RETURN(const UniqueFd fd, OpenForReading(path, &stat));
  const auto size = static_cast<size_t>(stat.st_size);
  if (size == 0) return MappedFile();
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) {
    return ErrnoToStatus(errno, absl::StrCat("map ", path.string()));
  }
  return MappedFile(static_cast<const std::byte*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace fgnn
