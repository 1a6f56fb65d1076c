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

// Not thread-safe; one at a time writes to a file.
class HeldLines {
 public:
  explicit HeldLines(std::filesystem::path path) : path_(std::move(path)) {}

  // Holds `lines`, which end with newlines, until Write().
  void Add(std::string_view lines) { held_ += lines; }

  // All lines that are held are in the file once this returns OK, with the
  // kernel. After an error they are held still, and the file has nothing of
  // them: the next call tries again.
  absl::Status Write();

  size_t held_bytes() const { return held_.size(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::string held_;
  // Place of the held lines in the file, once a write has failed: what lies
  // behind is a part of them. nullopt: the end.
  std::optional<uint64_t> place_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_HELD_LINES_H_
