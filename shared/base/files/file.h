// Files as a whole. All functions return errors that name the path.
#ifndef FGNN_SHARED_BASE_FILES_FILE_H_
#define FGNN_SHARED_BASE_FILES_FILE_H_

#include <fcntl.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

// Opens a file for reading, or, with O_WRONLY and more in `flags`, for writing.
// InvalidArgument for all but plain files: the open of a FIFO would wait for
// its other end, and a device may have no end. The same for a link with
// O_NOFOLLOW, or where the file is to be written: a link in a folder of
// somebody else may lead to a file that only this process may touch.
absl::StatusOr<UniqueFd> OpenPlainFile(const std::filesystem::path& path,
                                       int flags = O_RDONLY);

// The whole of a small plain file (at most max_bytes, else ResourceExhausted).
absl::StatusOr<std::string> ReadSmallFile(const std::filesystem::path& path,
                                          size_t max_bytes = 16 << 20,
                                          int flags = O_RDONLY);

// The last bytes of a plain file, at most `max_bytes`.
absl::StatusOr<std::string> ReadFileEnd(const std::filesystem::path& path,
                                        size_t max_bytes);

// Replaces `path` with `contents` so that a crash at any point leaves either
// the old file or the new one: writes a temporary file beside it, fsyncs it,
// renames it, fsyncs the folder. The temporary is removed on error.
absl::Status WriteFileAtomically(const std::filesystem::path& path,
                                 std::string_view contents);

// The same with contents in several pieces, so that large ones need no copy.
absl::Status WriteFileAtomically(const std::filesystem::path& path,
                                 absl::Span<const std::string_view> pieces);

// Whether WriteFileAtomically() gives such a name to a file that it writes.
bool IsTemporaryName(std::string_view name);

// Removes what a process left that was killed in WriteFileAtomically(path). No
// process may be writing the file meanwhile.
absl::Status RemoveTemporariesOf(const std::filesystem::path& path);

// The names in the folder are on disk once this returns: of files that were
// made, renamed or removed before.
absl::Status SyncFolder(const std::filesystem::path& folder);

// A read-only private mapping of a whole file. Movable; unmapped when
// destroyed. An empty file maps to an empty span.
class MappedFile {
 public:
  static absl::StatusOr<MappedFile> Open(const std::filesystem::path& path);
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
