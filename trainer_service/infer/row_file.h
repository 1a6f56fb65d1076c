// A .npy file of f32 rows that are written in any order, so that none has to be
// kept in memory.
#ifndef FGNN_TRAINER_SERVICE_INFER_ROW_FILE_H_
#define FGNN_TRAINER_SERVICE_INFER_ROW_FILE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

// The file lies beside `path` until Commit() renames it. Without Commit() it is
// removed. Errors name `path`.
class RowFile {
 public:
  // Takes the disk space of [rows, columns] at once. ResourceExhausted: there
  // is not enough; the caller learns it before anything is computed.
  static absl::StatusOr<std::unique_ptr<RowFile>> Create(
      const std::filesystem::path& path, uint64_t rows, uint64_t columns);
  RowFile(const RowFile&) = delete;
  RowFile& operator=(const RowFile&) = delete;
  ~RowFile();

  // Writes whole rows; `first` is the number of the first one. Any thread.
  absl::Status Write(uint64_t first, absl::Span<const float> rows) const;

  // Replaces `path`. Call it once, after the last Write().
  absl::Status Commit();

 private:
  RowFile(UniqueFd fd, std::filesystem::path path, std::string temporary,
          uint64_t columns)
      : fd_(std::move(fd)),
        path_(std::move(path)),
        temporary_(std::move(temporary)),
        columns_(columns) {}

  absl::Status WriteAt(uint64_t offset, absl::Span<const char> bytes) const;
  absl::Status Error(int error) const;

  UniqueFd fd_;
  std::filesystem::path path_;
  std::string temporary_;  // Empty once committed.
  uint64_t columns_;
  uint64_t data_offset_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_ROW_FILE_H_
