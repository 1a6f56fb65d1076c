// A .csv file that is written line by line.
#ifndef FGNN_TRAINER_SERVICE_INFER_FILES_CSV_FILE_H_
#define FGNN_TRAINER_SERVICE_INFER_FILES_CSV_FILE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/files/unfinished_file.h"

namespace fgnn {

// The file lies beside `path` until Commit() renames it. Without Commit() it is
// removed. Holds at most about a MiB of lines in memory. Errors name `path`.
// Movable.
class CsvFile {
 public:
  static absl::StatusOr<CsvFile> Create(const std::filesystem::path& path);

  // Returns the text of the lines that are not on disk yet. The caller appends
  // a line to it and calls EndLine().
  std::string* line() { return &text_; }
  // Ends the line.
  absl::Status EndLine();

  // Writes what is left, and replaces `path`. Call it once.
  absl::Status Commit();

 private:
  explicit CsvFile(std::unique_ptr<UnfinishedFile> file)
      : file_(std::move(file)) {}

  absl::Status Flush();

  std::unique_ptr<UnfinishedFile> file_;
  uint64_t written_ = 0;  // Bytes that are in the file.
  std::string text_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_FILES_CSV_FILE_H_
