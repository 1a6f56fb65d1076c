// A plain file that is read in pieces, without a mapping. If the disk fails, or
// the file shrinks meanwhile, the read returns an error, where a mapping would
// raise SIGBUS.
#ifndef FGNN_SHARED_BASE_FILES_PLAIN_FILE_H_
#define FGNN_SHARED_BASE_FILES_PLAIN_FILE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

// Movable; an object that was moved from is only destroyed or assigned to.
// Safe to read from any thread.
class PlainFile {
 public:
  // Returns InvalidArgument for all but plain files: the open of a FIFO would
  // wait for its other end, and a device may have no end.
  static absl::StatusOr<PlainFile> Open(const std::filesystem::path& path);
  PlainFile() = default;

  // Bytes of the file when it was opened.
  uint64_t size() const { return size_; }

  // Fills `out` with the bytes from `offset` on. Returns DataLoss if the file
  // ends before, or if the disk cannot read it.
  absl::Status Read(uint64_t offset, absl::Span<std::byte> out) const;

 private:
  std::string what_;
  UniqueFd fd_;
  uint64_t size_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_FILES_PLAIN_FILE_H_
