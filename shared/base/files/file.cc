#include "shared/base/files/file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "shared/base/files/unfinished_file.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// Two parts of the name of a temporary file. The first part distinguishes it
// from a user's file, which may be called X.sha512 or X.backup. mkostemp()
// replaces the second part.
constexpr char kTemporaryMark[] = ".tmp-";
constexpr char kUniquePart[] = "XXXXXX";

// Appends to `contents` until it has `max_bytes` bytes or the file ends.
absl::Status ReadUpTo(int fd, size_t max_bytes, const std::string& what,
                      std::string* contents) {
  char buffer[1 << 16];
  while (contents->size() < max_bytes) {
    const ssize_t got = ::read(
        fd, buffer, std::min(sizeof(buffer), max_bytes - contents->size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoToStatus(errno, what);
    if (got == 0) break;
    contents->append(buffer, static_cast<size_t>(got));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteAt(int fd, std::string_view bytes, uint64_t offset,
                     const std::string& what) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoToStatus(errno, what);
    offset += static_cast<uint64_t>(written);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> ReadAt(int fd, absl::Span<std::byte> out,
                              uint64_t offset, const std::string& what) {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::pread(fd, out.data() + done, out.size() - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoToStatus(errno, what);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

absl::Status SyncFolder(const std::filesystem::path& folder) {
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("sync folder ", folder.string()));
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> OpenPlainFile(const std::filesystem::path& path,
                                       int flags) {
  const std::string what = absl::StrCat("open ", path.string());
  if ((flags & O_ACCMODE) != O_RDONLY) flags |= O_NOFOLLOW;
  UniqueFd fd(
      ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0640));
  if (!fd.valid() && errno == ELOOP && (flags & O_NOFOLLOW) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, ": a link, not a plain file; links are not followed here"));
  }
  // No process reads from the FIFO, or none listens on the socket.
  const bool no_peer = !fd.valid() && errno == ENXIO;
  struct stat stat {};
  if (!no_peer && (!fd.valid() || ::fstat(fd.get(), &stat) != 0)) {
    return ErrnoToStatus(errno, what);
  }
  if (!S_ISREG(stat.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": not a plain file"));
  }
  return fd;
}

absl::StatusOr<std::string> ReadSmallFile(const std::filesystem::path& path,
                                          size_t max_bytes, int flags) {
  FGNN_ASSIGN_OR_RETURN(const UniqueFd fd, OpenPlainFile(path, flags));
  const std::string what = absl::StrCat("read ", path.string());
  std::string contents;
  FGNN_RETURN_IF_ERROR(ReadUpTo(fd.get(), max_bytes + 1, what, &contents));
  if (contents.size() > max_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(what, ": larger than ", max_bytes, " bytes"));
  }
  return contents;
}

absl::StatusOr<std::string> ReadFileEnd(const std::filesystem::path& path,
                                        size_t max_bytes) {
  FGNN_ASSIGN_OR_RETURN(const UniqueFd fd, OpenPlainFile(path));
  const std::string what = absl::StrCat("read ", path.string());
  const off_t size = ::lseek(fd.get(), 0, SEEK_END);
  const off_t from = std::max<off_t>(size - static_cast<off_t>(max_bytes), 0);
  if (size < 0 || ::lseek(fd.get(), from, SEEK_SET) < 0) {
    return ErrnoToStatus(errno, what);
  }
  std::string contents;
  FGNN_RETURN_IF_ERROR(ReadUpTo(fd.get(), max_bytes, what, &contents));
  return contents;
}

absl::Status WriteFileAtomically(const std::filesystem::path& path,
                                 std::string_view contents) {
  return WriteFileAtomically(path, absl::MakeConstSpan(&contents, 1));
}

absl::Status WriteFileAtomically(const std::filesystem::path& path,
                                 absl::Span<const std::string_view> pieces) {
  FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<UnfinishedFile> file,
                        UnfinishedFile::Create(path));
  uint64_t offset = 0;
  for (const std::string_view piece : pieces) {
    FGNN_RETURN_IF_ERROR(file->Write(offset, piece));
    offset += piece.size();
  }
  return file->Commit();
}

std::string TemporaryPattern(const std::filesystem::path& path) {
  return absl::StrCat(path.string(), kTemporaryMark, kUniquePart);
}

bool IsTemporaryName(std::string_view name) {
  const size_t mark = name.rfind(kTemporaryMark);
  return mark != std::string_view::npos && mark > 0 &&
         name.size() ==
             mark + (sizeof(kTemporaryMark) - 1) + sizeof(kUniquePart) - 1;
}

absl::Status RemoveTemporariesOf(const std::filesystem::path& path) {
  const std::string prefix =
      absl::StrCat(path.filename().string(), kTemporaryMark);
  const std::filesystem::path folder =
      path.has_parent_path() ? path.parent_path() : ".";
  std::error_code error;
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (absl::StartsWith(name, prefix) && IsTemporaryName(name) &&
        entry.symlink_status(error).type() ==
            std::filesystem::file_type::regular) {
      found.push_back(entry.path());
    }
  }
  for (const std::filesystem::path& temporary : found) {
    if (!error) std::filesystem::remove(temporary, error);
  }
  return error ? ErrnoToStatus(error.value(), folder.string())
               : absl::OkStatus();
}

absl::StatusOr<MappedFile> MappedFile::Open(const std::filesystem::path& path) {
  FGNN_ASSIGN_OR_RETURN(const UniqueFd fd, OpenPlainFile(path));
  return Map(fd, path);
}

absl::StatusOr<MappedFile> MappedFile::Map(const UniqueFd& fd,
                                           const std::filesystem::path& path) {
  struct stat stat {};
  if (::fstat(fd.get(), &stat) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("map ", path.string()));
  }
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
