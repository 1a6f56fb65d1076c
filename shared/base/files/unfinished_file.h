// A file that lies beside its path, under a name of its own, until it is whole.
#ifndef FGNN_SHARED_BASE_FILES_UNFINISHED_FILE_H_
#define FGNN_SHARED_BASE_FILES_UNFINISHED_FILE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

// Without Commit() the file is removed. Its name is one of IsTemporaryName().
// Errors name the path.
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
  // Write and read all bytes. Any thread.
  absl::Status Write(uint64_t offset, std::string_view bytes) const;
  absl::Status Read(uint64_t offset, absl::Span<std::byte> bytes) const;
  // Replaces the path so that a crash leaves the old file or the whole new one.
  // Call it once, after the last Write().
  absl::Status Commit();

 private:
  UnfinishedFile(UniqueFd fd, std::filesystem::path path, std::string temporary)
      : fd_(std::move(fd)),
        path_(std::move(path)),
        temporary_(std::move(temporary)) {}

  std::string Verb(const char* verb) const;

  UniqueFd fd_;
  std::filesystem::path path_;
  std::string temporary_;  // Empty once committed.
};

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_FILES_UNFINISHED_FILE_H_
