// Reads a plain file line by line, in little memory.
#ifndef FGNN_SHARED_BASE_FILES_FILE_LINES_H_
#define FGNN_SHARED_BASE_FILES_FILE_LINES_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

// Not thread-safe. Errors name the path.
class FileLines {
 public:
  // Opens the file to read the lines after its first `from` bytes. Returns the
  // errors of OpenPlainFile() with O_NOFOLLOW.
  static absl::StatusOr<FileLines> Open(const std::filesystem::path& path,
                                        size_t max_line_bytes,
                                        uint64_t from = 0);

  // Returns the next line without its newline, valid until the next call;
  // nullopt after the last line. Returns ResourceExhausted if the line has more
  // than `max_line_bytes` bytes.
  absl::StatusOr<std::optional<std::string_view>> Next();

  // Whether the line of the last Next() ended with a newline. The last line of
  // a file may lack it, for instance while a process still writes the line.
  bool is_whole() const { return is_whole_; }

 private:
  FileLines(UniqueFd fd, std::string what, size_t max_line_bytes)
      : fd_(std::move(fd)),
        what_(std::move(what)),
        max_line_bytes_(max_line_bytes) {}
  absl::Status ReadMore();

  UniqueFd fd_;
  std::string what_;
  size_t max_line_bytes_;
  std::string buffer_;
  size_t begin_ = 0;  // Place in buffer_ of the next line.
  bool at_end_ = false;
  bool is_whole_ = false;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_FILES_FILE_LINES_H_
