// Lines of a text file, gzip'ed or not, or of another program's output.
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

// Not thread-safe. Memory: a buffer of 1 MiB, or of the longest line.
class LineReader {
 public:
  // Longer lines are an error: the file is no text.
  static constexpr size_t kMaxLineBytes = size_t{64} << 20;

  // A plain or gzip'ed file, told apart by its first bytes.
  static absl::StatusOr<LineReader> OpenFile(const std::filesystem::path& path);

  // The standard output of a program, which is looked for on PATH unless
  // argv[0] holds a slash. Its standard error is dropped; an exit code other
  // than 0 is the error of the last Next(). The program is killed if the reader
  // goes before it has ended.
  static absl::StatusOr<LineReader> OpenCommand(
      const std::vector<std::string>& argv);

  LineReader(LineReader&&) noexcept;
  LineReader& operator=(LineReader&&) noexcept;
  ~LineReader();

  // Sets *line to the next line without its end ("\n" or "\r\n"), valid until
  // the next call; false after the last one. Errors name file and line:
  // InvalidArgument for a truncated or damaged gzip file or an endless line.
  absl::StatusOr<bool> Next(std::string_view* line);

  // Of the line that Next() gave last, from 1.
  uint64_t line_number() const;
  // "edges.txt:17", for messages about that line.
  std::string Place() const;
  // The path or the command.
  const std::string& what() const;
  // On disk, for progress: bytes taken in so far and in all (0: not known).
  uint64_t bytes_done() const;
  uint64_t bytes_in_all() const;

 private:
  struct Input;
  explicit LineReader(std::unique_ptr<Input> input);
  std::unique_ptr<Input> input_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_READING_LINE_READER_H_
