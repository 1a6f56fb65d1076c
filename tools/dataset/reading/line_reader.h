// Reads lines of a text file, gzip'ed or not, or of another program's output.
#ifndef FGNN_TOOLS_DATASET_READING_LINE_READER_H_
#define FGNN_TOOLS_DATASET_READING_LINE_READER_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fgnn {

// Not thread-safe. Takes a buffer of 1 MiB, or of the longest line.
class LineReader {
 public:
  // Most bytes of a line. A longer one is an error: the file is no text.
  static constexpr size_t kMaxLineBytes = size_t{64} << 20;

  // Opens a plain or gzip'ed file; its first bytes tell which.
  static absl::StatusOr<LineReader> OpenFile(const std::filesystem::path& path);

  // Reads the standard output of a program, which is searched on PATH unless
  // argv[0] holds a slash. Its standard error is dropped. An exit code other
  // than 0 is the error of the last Next(). If the reader is destroyed before
  // the program has ended, the program is killed.
  static absl::StatusOr<LineReader> OpenCommand(
      const std::vector<std::string>& argv);

  LineReader(LineReader&&) noexcept;
  LineReader& operator=(LineReader&&) noexcept;
  ~LineReader();

  // Sets *line to the next line without its end ("\n" or "\r\n"), valid until
  // the next call. Returns false after the last one. Errors name file and line:
  // InvalidArgument for a truncated or damaged gzip file or an endless line.
  absl::StatusOr<bool> Next(std::string_view* line);

  // Number of the line that Next() gave last, from 1.
  uint64_t line_number() const;
  // Place of that line for messages, "edges.txt:17".
  std::string Place() const;
  std::string Line() const;  // The same without the file, "line 17".
  // The path or the command, for messages.
  const std::string& what() const;
  // Bytes on disk, for progress: read so far, and in all (0: not known).
  uint64_t bytes_done() const;
  uint64_t bytes_in_all() const;

 private:
  struct Input;
  explicit LineReader(std::unique_ptr<Input> input);
  std::unique_ptr<Input> input_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_READING_LINE_READER_H_
