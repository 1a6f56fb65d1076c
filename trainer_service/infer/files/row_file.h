// A .npy file of f32 rows that are written in any order, so that none has to be
// kept in memory.
#ifndef FGNN_TRAINER_SERVICE_INFER_FILES_ROW_FILE_H_
#define FGNN_TRAINER_SERVICE_INFER_FILES_ROW_FILE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/files/unfinished_file.h"

namespace fgnn {

// The file lies beside `path` until Commit() renames it. Without Commit() it is
// removed. Errors name `path`. Movable.
class RowFile {
 public:
  // Takes the disk space of [rows, columns] at once. ResourceExhausted: there
  // is not enough; the caller learns it before anything is computed.
  static absl::StatusOr<RowFile> Create(const std::filesystem::path& path,
                                        uint64_t rows, uint64_t columns);

  // Write and read whole rows; `first` is the number of the first one. Any
  // thread.
  absl::Status Write(uint64_t first, absl::Span<const float> rows) const;
  absl::Status Read(uint64_t first, absl::Span<float> rows) const;

  // Replaces `path`. Call it once, after the last Write(). Rows can be read
  // after it too.
  absl::Status Commit() { return file_->Commit(); }

  uint64_t columns() const { return columns_; }

 private:
  RowFile(std::unique_ptr<UnfinishedFile> file, uint64_t columns,
          uint64_t data_offset)
      : file_(std::move(file)), columns_(columns), data_offset_(data_offset) {}

  std::unique_ptr<UnfinishedFile> file_;
  uint64_t columns_;
  uint64_t data_offset_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_FILES_ROW_FILE_H_
