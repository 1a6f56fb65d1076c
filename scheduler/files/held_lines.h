// The end of a file that grows by whole lines, on a disk that may be full.
#ifndef FGNN_SCHEDULER_FILES_HELD_LINES_H_
#define FGNN_SCHEDULER_FILES_HELD_LINES_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "shared/base/files/guarded_path.h"

namespace fgnn {

// Not thread-safe. Only one object at a time may write to a file.
class HeldLines {
 public:
  // `name`: the file's name in its folder.
  explicit HeldLines(std::string name) : name_(std::move(name)) {}

  // Holds `lines`, which end with newlines, until Write().
  void Add(std::string_view lines) { held_ += lines; }

  // Writes all held lines to the file in `folder`, which is the same at each
  // call. Once this returns OK, the kernel has them. After an error the lines
  // are still held, nothing of them counts as written, and the next call tries
  // again.
  absl::Status Write(const HeldFolder& folder);

  size_t held_bytes() const { return held_.size(); }

 private:
  absl::Status WriteTo(const std::filesystem::path& path);

  std::string name_;
  std::string held_;
  // Offset of the held lines in the file, once a write has failed; bytes after
  // it are a part of them. nullopt: the end of the file.
  std::optional<uint64_t> place_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_HELD_LINES_H_
