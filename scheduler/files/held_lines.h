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

namespace fgnn {

// Not thread-safe. Only one object at a time may write to a file.
class HeldLines {
 public:
  explicit HeldLines(std::filesystem::path path) : path_(std::move(path)) {}

  // Holds `lines`, which end with newlines, until Write().
  void Add(std::string_view lines) { held_ += lines; }

  // Writes all held lines to the file. Once this returns OK, the kernel has
  // them. After an error the lines are still held, nothing of them counts as
  // written, and the next call tries again.
  absl::Status Write();

  size_t held_bytes() const { return held_.size(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::string held_;
  // Offset of the held lines in the file, once a write has failed; bytes after
  // it are a part of them. nullopt: the end of the file.
  std::optional<uint64_t> place_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_HELD_LINES_H_
