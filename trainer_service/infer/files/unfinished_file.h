// A file that lies beside its path, under a name of its own, until it is whole.
#ifndef FGNN_TRAINER_SERVICE_INFER_FILES_UNFINISHED_FILE_H_
#define FGNN_TRAINER_SERVICE_INFER_FILES_UNFINISHED_FILE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

// Without Commit() the file is removed. Errors name the path.
class UnfinishedFile {
 public:
  static absl::StatusOr<std::unique_ptr<UnfinishedFile>> Create(
      const std::filesystem::path& path);
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile();

  // Takes the disk space of the whole file. ResourceExhausted: there is not
  // enough.
  absl::Status Reserve(uint64_t bytes) const;
  // Write and read all bytes of the span. Any thread.
  absl::Status WriteAt(uint64_t offset, absl::Span<const char> bytes) const;
  absl::Status ReadAt(uint64_t offset, absl::Span<char> bytes) const;
  // Replaces the path. Call it once, after the last WriteAt().
  absl::Status Commit();

 private:
  UnfinishedFile(UniqueFd fd, std::filesystem::path path, std::string temporary)
      : fd_(std::move(fd)),
        path_(std::move(path)),
        temporary_(std::move(temporary)) {}

  absl::Status Error(const char* verb, int error) const;

  UniqueFd fd_;
  std::filesystem::path path_;
  std::string temporary_;  // Empty once committed.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_FILES_UNFINISHED_FILE_H_
