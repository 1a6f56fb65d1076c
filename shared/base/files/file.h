// Reads, writes and maps whole files. All functions return errors that name the
// path.
#ifndef FGNN_SHARED_BASE_FILES_FILE_H_
#define FGNN_SHARED_BASE_FILES_FILE_H_

#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

// Opens a file for reading, or for writing with O_WRONLY and more in `flags`.
// Returns InvalidArgument for all but plain files: the open of a FIFO would
// wait for its other end, and a device may have no end. Returns the same error
// for a link, if `flags` has O_NOFOLLOW or the file is opened for writing. The
// reason: a link in another user's folder may lead to a file that only this
// process may touch.
absl::StatusOr<UniqueFd> OpenPlainFile(const std::filesystem::path& path,
                                       int flags = O_RDONLY);

// Returns the contents of a small plain file. Returns ResourceExhausted if the
// file has more than `max_bytes` bytes.
absl::StatusOr<std::string> ReadSmallFile(const std::filesystem::path& path,
                                          size_t max_bytes = 16 << 20,
                                          int flags = O_RDONLY);

// Returns the last bytes of a plain file, at most `max_bytes`.
absl::StatusOr<std::string> ReadFileEnd(const std::filesystem::path& path,
                                        size_t max_bytes);

// Replaces `path` with `contents` so that a crash at any point leaves either
// the old file or the new one: writes a temporary file beside it, fsyncs it,
// renames it, fsyncs the folder. The temporary is removed on error.
absl::Status WriteFileAtomically(const std::filesystem::path& path,
                                 std::string_view contents);

// Does the same with contents in several pieces, so that large contents need
// not be copied.
absl::Status WriteFileAtomically(const std::filesystem::path& path,
                                 absl::Span<const std::string_view> pieces);

// Write and read at a place of an open file. `what` begins the errors. ReadAt()
// returns the number of bytes, which is less than asked for where the file
// ends.
absl::Status WriteAt(int fd, std::string_view bytes, uint64_t offset,
                     const std::string& what);
absl::StatusOr<size_t> ReadAt(int fd, absl::Span<std::byte> out,
                              uint64_t offset, const std::string& what);

// Returns the name of a temporary file beside `path`, for mkostemp().
std::string TemporaryPattern(const std::filesystem::path& path);

// Whether `name` has the form of the temporary files of WriteFileAtomically().
bool IsTemporaryName(std::string_view name);

// Removes the temporary files of processes that were killed in
// WriteFileAtomically(path). No process may write the file meanwhile.
absl::Status RemoveTemporariesOf(const std::filesystem::path& path);

// Writes the names in the folder to disk (fsync): files that were made, renamed
// or removed before this call stay so after a crash.
absl::Status SyncFolder(const std::filesystem::path& folder);

// A read-only private mapping of a whole file. Movable; unmapped when
// destroyed. An empty file maps to an empty span.
class MappedFile {
 public:
  static absl::StatusOr<MappedFile> Open(const std::filesystem::path& path);
  // Maps a file that is open. `path`: its name for errors.
  static absl::StatusOr<MappedFile> Map(const UniqueFd& fd,
                                        const std::filesystem::path& path);
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  absl::Span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile(const std::byte* data, size_t size) : data_(data), size_(size) {}
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_FILES_FILE_H_
