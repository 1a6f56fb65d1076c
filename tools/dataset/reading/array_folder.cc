#include "tools/dataset/reading/array_folder.h"

#include <algorithm>
#include <system_error>

#include "tools/dataset/reading/text_array.h"

namespace fgnn {

namespace fs = std::filesystem;

bool ArrayFolder::Has(const fs::path& file) const {
  std::error_code error;
  return fs::exists(path_ / file, error);
}

std::optional<fs::path> ArrayFolder::FirstOf(
    const std::vector<std::string>& files) const {
  for (const std::string& file : files) {
    if (Has(file)) return file;
  }
  return std::nullopt;
}

absl::StatusOr<ArrayStream> ArrayFolder::Open(const fs::path& file) {
  const fs::path whole = path_ / file;
  opened_.insert(whole.lexically_normal());
  return ArrayStream::OpenFile(whole);
}

bool ArrayFolder::HasText(const fs::path& file) const {
  return IsTextArray(path_ / file);
}

absl::StatusOr<std::vector<std::string>> ArrayFolder::ReadText(
    const fs::path& file) {
  const fs::path whole = path_ / file;
  opened_.insert(whole.lexically_normal());
  return ReadTextArray(whole);
}

std::vector<std::string> ArrayFolder::Unopened() const {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path_, error)) {
    if (entry.path().extension() == ".npy" &&
        opened_.count(entry.path().lexically_normal()) == 0) {
      names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace fgnn
