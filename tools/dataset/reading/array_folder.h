// A folder of .npy files that remembers which of them were read.
#ifndef FGNN_TOOLS_DATASET_READING_ARRAY_FOLDER_H_
#define FGNN_TOOLS_DATASET_READING_ARRAY_FOLDER_H_

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/dataset/reading/array_stream.h"

namespace fgnn {

// Not thread-safe.
class ArrayFolder {
 public:
  explicit ArrayFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  // `file` is relative to the folder, as in "labels.npy".
  bool Has(const std::filesystem::path& file) const;
  // Returns the first of `files` that is there.
  std::optional<std::filesystem::path> FirstOf(
      const std::vector<std::string>& files) const;
  // Errors: those of ArrayStream::OpenFile().
  absl::StatusOr<ArrayStream> Open(const std::filesystem::path& file);
  // Returns true if the file is there and holds texts.
  bool HasText(const std::filesystem::path& file) const;
  // Errors: those of ReadTextArray().
  absl::StatusOr<std::vector<std::string>> ReadText(
      const std::filesystem::path& file);
  // Returns the names of the folder's .npy files that were not opened,
  // ascending.
  std::vector<std::string> Unopened() const;

 private:
  std::filesystem::path path_;
  std::set<std::filesystem::path> opened_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_READING_ARRAY_FOLDER_H_
